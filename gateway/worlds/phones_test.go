package worlds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/queue"
	"sluice/smpp/pdu"
)

// phoned is a message that somebody's phone sends.
type phoned struct {
	at      time.Duration
	account string
	from    string
	parts   []string // texts
	kept    int      // how many of the parts the SMSC sends; the others never come
	gap     time.Duration
}

func (p *phoned) text() string { return strings.Join(p.parts, "") }

// drawPhones draws what phones send: a third of it in parts, of which some never come.
func (w *world) drawPhones(rnd *rand.Rand) {
	for n := range 10 + rnd.IntN(30) {
		p := phoned{
			at: w.within(rnd, 0.05, 0.95), account: w.accounts[rnd.IntN(len(w.accounts))], from: fmt.Sprintf("1888%07d", n),
			gap: time.Duration(rnd.ExpFloat64() * float64(2*time.Second)),
		}
		total := 1
		if rnd.IntN(3) == 0 {
			total = 2 + rnd.IntN(3)
		}
		for part := range total {
			p.parts = append(p.parts, fmt.Sprintf("phone %d part %d of %d. ", n, part+1, total))
		}
		p.kept = total
		if total > 1 && rnd.IntN(6) == 0 {
			p.kept, p.at = total-1, w.within(rnd, 0.05, 0.2)
		}
		w.phones = append(w.phones, p)
	}
}

// body is the deliver_sm of a part.
func (p *phoned) body(part int) pdu.DeliverSM {
	sm := pdu.DeliverSM{
		Source: pdu.Address{TON: 1, NPI: 1, Addr: []byte(p.from)}, Dest: pdu.Address{Addr: []byte("2000")}, ShortMessage: []byte(p.parts[part]),
	}
	if total := len(p.parts); total > 1 {
		sm.ESMClass = pdu.ESMClassUDHI
		sm.ShortMessage = append([]byte{5, 0, 3, 7, byte(total), byte(part + 1)}, sm.ShortMessage...)
	}
	return sm
}

// phone sends a message part by part; an SMSC keeps each until somebody is bound.
func (r *run) phone(p *phoned) {
	time.Sleep(time.Until(r.begin.Add(p.at)))
	for part := range p.kept {
		for r.smscs[p.account].Deliver("", p.body(part)) != nil { // nobody is bound
			time.Sleep(time.Second)
		}
		r.note("the phone %s sends part %d of %d to %s", p.from, part+1, len(p.parts), p.account)
		time.Sleep(p.gap)
	}
}

// phonesBound is how long after the end of the faults a message from a phone may take: parts wait 5 minutes for others,
// and what a dead instance has taken comes back when its AckWait is over.
const phonesBound = 12 * time.Minute

// awaitPhones waits until everything from phones is published, within the bound.
func (r *run) awaitPhones(ctx context.Context, c *queue.Client) (faults []error) {
	for end := time.Now().Add(phonesBound); ; time.Sleep(10 * time.Second) {
		published, err := r.published(ctx, c)
		if err == nil {
			faults = r.heard(published)
		} else {
			faults = []error{err}
		}
		if len(faults) == 0 || time.Now().After(end) {
			return faults
		}
	}
}

// published reads what the gateways have published from phones.
func (r *run) published(ctx context.Context, c *queue.Client) (all []queue.MO, err error) {
	js, err := jetstream.New(c.Conn())
	if err != nil {
		return nil, err
	}
	stream, err := js.Stream(ctx, "SMS_MO")
	if err != nil {
		return nil, err
	}
	for seq := uint64(1); seq <= stream.CachedInfo().State.LastSeq; seq++ {
		m, err := stream.GetMsg(ctx, seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var mo queue.MO
		if err := json.Unmarshal(m.Data, &mo); err != nil {
			return nil, err
		}
		all = append(all, mo)
	}
	return all, nil
}

// heard: what an SMSC has delivered is published, once: a long message joined, or part by part where parts are missing.
// Where an instance died before its deliver_sm_resp was out, the SMSC delivers again, and nothing tells the second apart.
func (r *run) heard(published []queue.MO) (faults []error) {
	once := 1
	if r.lostSomebody() {
		once = 2
	}
	times := map[string]int{}
	for _, mo := range published {
		times[mo.Account+" "+mo.Text]++
	}
	for i := range r.phones {
		p := &r.phones[i]
		if r.within(r.begin.Add(p.at)) {
			continue
		}
		count := func(text string) int { return times[p.account+" "+text] }
		whole, lone := count(p.text()), 0
		if len(p.parts) > 1 {
			for _, text := range p.parts[:p.kept] {
				n := count(text)
				lone += min(n, 1)
				if n > once {
					faults = append(faults, fmt.Errorf("part %q from the phone %s was published %d times", text, p.from, n))
				}
			}
		}
		switch {
		case whole > once || whole > 0 && lone > 0 && once == 1:
			faults = append(faults, fmt.Errorf("the message of the phone %s was published %d times, and %d parts of it alone", p.from, whole, lone))
		case whole == 0 && lone < p.kept:
			faults = append(faults, fmt.Errorf("the message of the phone %s was lost: it came in %d parts, %d are published", p.from, p.kept, lone))
		case p.kept < len(p.parts) && whole > 0:
			faults = append(faults, fmt.Errorf("the message of the phone %s was joined, and a part of it never came", p.from))
		}
	}
	return faults
}

// matched: a receipt is about the message that has its id, and what ended submitted without any doubt has its receipts.
func (r *run) matched(stories []*story, events []queue.Event, complain func(string, ...any)) {
	to := r.destinations()
	bySeq := map[uint64]*story{}
	for _, s := range stories {
		bySeq[s.seq] = s
	}
	for _, e := range events {
		if e.Type != queue.EventReceipt || e.Receipt == nil || e.Seq == 0 {
			continue
		}
		if r.rolledBack() && (bySeq[e.Seq] == nil || bySeq[e.Seq].message.ID != e.ID) {
			continue // the sequence was another message's before
		}
		if s := bySeq[e.Seq]; s == nil || to[e.Receipt.MessageID] != s.message.To[1:] {
			complain("the receipt of %s is about %s, and was matched to seq %d", e.Receipt.MessageID, to[e.Receipt.MessageID], e.Seq)
		}
	}
}

// destinations are those of the ids that the SMSCs gave.
func (r *run) destinations() map[string]string {
	to := map[string]string{}
	for _, smsc := range r.smscs {
		for _, record := range smsc.Ledger() {
			if record.MessageID != "" {
				to[record.MessageID] = record.Destination
			}
		}
	}
	return to
}
