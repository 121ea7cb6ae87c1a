package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"sluice/queue"
	"sluice/smpp"
	"sluice/smpp/pdu"
	"sluice/smpp/receipt"
)

// listener takes what the SMSC sends on one session.
type listener struct {
	*account

	bind string
	life *sessionLife
}

// sessions are those of this process, by id, and for a while those that have ended.
type sessions struct {
	mu   sync.Mutex
	byID map[string]*sessionLife
}

func (s *sessions) add(life *sessionLife) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = map[string]*sessionLife{}
	}
	s.byID[life.id] = life
}

func (s *sessions) get(id string) *sessionLife {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id]
}

func (s *sessions) remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, id)
}

// listen makes the handler of a new session of a bind.
func (k *keeper) listen() *listener {
	l := &listener{account: k.account, bind: k.name(), life: &sessionLife{id: rand.Text()}}
	l.sessions.add(l.life)
	return l
}

// endNoteWait bounds the note of a session's end, which other instances read.
const endNoteWait = 5 * time.Second

// ended notes the end of the session: what came last on it may come again, here or at another instance.
func (l *listener) ended(bound bool) {
	now := time.Now()
	l.arrivals.end(now, l.life)
	time.AfterFunc(repeatPatience, func() { l.sessions.remove(l.life.id) })
	if !bound || l.store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(l.work, endNoteWait)
	defer cancel()
	if err := l.store.NoteSessionEnd(ctx, l.name, l.life.id, now); err != nil && l.work.Err() == nil {
		l.log.Warn("the end of a session was not noted, another instance may publish twice what came last on it", "bind", l.bind, "error", err)
	}
}

// Deliver stores what the SMSC sends before it is answered, unless it is stored already and was sent again because our
// answer may not have been seen. What cannot be stored is answered with ESME_RSYSERR, and with ESME_RMSGQFUL where there is no
// room, so that the SMSC keeps it and sends it again.
func (l *listener) Deliver(ctx context.Context, m *smpp.Inbound) pdu.Status {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.inbound, cancel)()
	p := &arrival{octets: octetsOf(m.Raw), at: m.Received, from: l.life}
	if p.at.IsZero() {
		p.at = time.Now()
	}
	repeated, err := l.keep(ctx, m, p)
	now := time.Now()
	p.late, p.unsure = now.Sub(p.at) > answerPatience, err != nil
	l.arrivals.took(now, p)
	if err != nil {
		return l.notKept(err)
	}
	if repeated {
		l.countRepeat(m)
	}
	return pdu.StatusOK
}

// keep stores a PDU, and reports whether it is stored already and repeats what is there.
func (l *listener) keep(ctx context.Context, m *smpp.Inbound, p *arrival) (repeated bool, err error) {
	earlier, known := l.arrivals.repeated(time.Now(), p.octets)
	switch {
	case earlier != nil && !earlier.unsure:
		p.once = earlier.once
		return true, nil
	case earlier != nil:
		p.once = earlier.once
	case known:
		p.once = p.octets + "." + rand.Text()
	default:
		p.once = p.octets
	}
	in := queue.InboundRecord{
		Account: l.name, Bind: l.bind, ReceivedAt: p.at.UTC(), Command: uint32(m.Command), PDU: m.Raw,
		Instance: l.instance, Session: l.life.id,
	}
	there, err := l.store.StoreInboundOnce(ctx, l.name, in, p.once)
	if err != nil || there == 0 {
		return false, err
	}
	if earlier != nil { // its storing was refused, as it seemed
		return true, nil
	}
	if repeated, err = l.repeatsStored(ctx, there, p.at); err != nil || repeated {
		return repeated, err
	}
	p.once = p.octets + "." + rand.Text()
	_, err = l.store.StoreInboundOnce(ctx, l.name, in, p.once)
	return false, err
}

// repeatsStored says of a PDU that this process knows nothing of, and that is stored already, whether our answer to it
// may not have been seen: its session, at another instance or before a restart, ended soon after it.
func (l *listener) repeatsStored(ctx context.Context, seq uint64, now time.Time) (bool, error) {
	there, ok, err := l.store.ReadInbound(ctx, l.name, seq)
	switch {
	case err != nil:
		return false, err
	case !ok: // it was dealt with; where this process is young, another had it
		return now.Sub(l.began) < endPatience, nil
	case there.Session == "":
		return false, nil
	}
	soon := func(end time.Time) bool { return end.Sub(there.ReceivedAt) < endPatience }
	if life := l.sessions.get(there.Session); life != nil {
		end := l.arrivals.endOf(life)
		return !end.IsZero() && soon(end), nil
	}
	end, noted, err := l.store.SessionEnd(ctx, l.name, there.Session)
	switch {
	case err != nil:
		return false, err
	case noted:
		return soon(end), nil
	case there.Instance == l.instance: // of a process that nobody could end in good order
		return soon(l.began), nil
	}
	live, err := l.store.Instances(ctx)
	if err != nil {
		return false, fmt.Errorf("looking for the instance that took a PDU: %w", err)
	}
	for _, i := range live {
		if i.Name == there.Instance {
			return i.Started.After(there.ReceivedAt) && soon(i.Started), nil
		}
	}
	return soon(now), nil
}

func (l *listener) notKept(err error) pdu.Status {
	l.metrics.inboundFault.WithLabelValues(l.name).Inc()
	if errors.Is(err, queue.ErrInboundFull) {
		l.log.Warn("there is no room for messages from the SMSC, it was asked to keep them", "error", err)
		return pdu.StatusMsgQFull
	}
	l.log.Error("a message from the SMSC could not be stored, the SMSC was asked to keep it", "error", err)
	return pdu.StatusSysErr
}

// countRepeat counts what is acknowledged and was stored before.
func (l *listener) countRepeat(m *smpp.Inbound) {
	in := receipt.InputOf(&m.Deliver)
	if receipt.IsReceipt(m.Deliver.ESMClass, in.ReceiptedID != nil, in.State != nil) {
		l.countReceipt(matchRepeated)
		return
	}
	l.metrics.inbound.WithLabelValues(l.name, "repeated").Inc()
}
