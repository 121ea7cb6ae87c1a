package worlds

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// forgottenFor is how much of the journal a server with a full disk loses: it confirms a write some milliseconds before
// the write is on the disk.
const forgottenFor = 300 * time.Millisecond

// drawForgetting gives one world in eight a disk that becomes full: NATS has confirmed events that it could not write,
// answers nothing more, and has forgotten them when it is started again. Who lives on remembers them, so nobody is
// stopped or killed in such a world.
func (w *world) drawForgetting(rnd *rand.Rand) {
	if w.seed%8 != 2 {
		return
	}
	for _, f := range w.faults {
		if f.kind == kill {
			f.kind = cut
		}
	}
	w.faults = slices.DeleteFunc(w.faults, func(f *fault) bool { return f.kind == stop })
	w.faults = append(w.faults, &fault{
		kind: forget, instance: -1, at: time.Duration((0.2 + 0.6*rnd.Float64()) * float64(w.length)),
		length: time.Duration((7 + 6*rnd.Float64()) * float64(time.Second)),
	})
}

// forgets lets NATS answer nothing more in a moment in which it has just confirmed a final, takes what it has confirmed
// last out of the journal, and starts it again after a while.
func (r *run) forgets(ctx context.Context, f *fault) error {
	r.mu.Lock()
	s := r.server
	r.mu.Unlock()
	if s == nil {
		return nil // it is down already
	}
	nc, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	stream, err := js.Stream(ctx, "SMS_EVENTS")
	if err != nil {
		return err
	}
	newest, err := freshFinal(ctx, stream)
	if err != nil || newest == 0 {
		return err
	}
	r.holdNATS(f.length)
	n := 0
	for seq := newest; seq > 0; seq-- {
		m, err := stream.GetMsg(ctx, seq)
		if err != nil || time.Since(m.Time) > forgottenFor {
			break
		}
		if err := stream.DeleteMsg(ctx, seq); err != nil {
			return err
		}
		n++
	}
	f.hit = fmt.Sprintf("the newest %d events at %.3f s", n, time.Since(r.begin).Seconds())
	r.note("fault %v", f)
	nc.Close()
	time.Sleep(f.length)
	r.shutdown()
	time.Sleep(time.Second)
	r.up()
	return nil
}

// freshFinal waits, for a while, until the journal has just stored a final, and returns its sequence; 0 without one.
func freshFinal(ctx context.Context, stream jetstream.Stream) (seq uint64, err error) {
	for range 1200 {
		m, err := stream.GetLastMsgForSubject(ctx, "sms.evt.*.submitted.*")
		if err == nil && time.Since(m.Time) < forgottenFor/2 {
			info, err := stream.Info(ctx)
			if err != nil {
				return 0, err
			}
			return info.State.LastSeq, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return 0, nil
}

// holdNATS lets nothing pass on any link of NATS for a while.
func (r *run) holdNATS(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.relays {
		if c.link == natsLink {
			c.hold(d)
		}
	}
}
