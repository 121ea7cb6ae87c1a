package worlds

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"sluice/gateway/admin"
	"sluice/queue"
)

// order is something that the operator wants of an account for a while.
type order struct {
	at      time.Duration
	length  time.Duration
	account string
	mode    queue.Mode
	rate    float64 // over all instances, in submits a second; 0: as configured

	stored, all, until time.Time            // when the bucket had it, all instances followed it, and it was taken back; zero: never
	follows            map[string]time.Time // when the operator read that an instance follows it
	missing            []string             // instances that did not in time
	back               time.Time            // when all instances followed its end; zero: they did not in time
}

func (o *order) String() string {
	what := "sets the rate of " + o.account + fmt.Sprintf(" to %v", o.rate)
	if o.mode != queue.ModeRun {
		what = string(o.mode) + "s " + o.account
	}
	return fmt.Sprintf("at %v the operator %s for %v", o.at.Round(time.Millisecond), what, o.length.Round(time.Millisecond))
}

// cancelling is a message that the operator cancelled, and what he was told.
type cancelling struct {
	id     string
	at     time.Time // of the answer
	answer queue.Cancelling
}

// drawOperator draws what the operator of two worlds of three does: one order after the other, and some messages
// cancelled, more of them while an account is stopped.
func (w *world) drawOperator(rnd *rand.Rand) {
	if rnd.IntN(3) == 0 {
		return
	}
	for at := w.within(rnd, 0.1, 0.4); at < w.length*4/5; at += w.within(rnd, 0.15, 0.5) {
		o := &order{at: at, follows: map[string]time.Time{}, length: time.Duration(10+rnd.IntN(60)) * time.Second, account: w.accounts[rnd.IntN(len(w.accounts))]}
		if o.mode = []queue.Mode{queue.ModePause, queue.ModeDrain, queue.ModeRun}[rnd.IntN(3)]; o.mode == queue.ModeRun {
			o.rate = float64(1 + rnd.IntN(8))
		}
		w.orders = append(w.orders, o)
		at += o.length
	}
	for n := range w.messages {
		p, chance := &w.messages[n], 30
		if slices.ContainsFunc(w.orders, func(o *order) bool { return p.at > o.at && p.at < o.at+o.length }) {
			chance = 6
		}
		late := rnd.ExpFloat64() * float64(8*time.Second)
		if rnd.IntN(chance) == 0 {
			p.cancel = time.Millisecond + time.Duration(late)
		}
	}
}

// within is a time between two fractions of the world's length.
func (w *world) within(rnd *rand.Rand, from, to float64) time.Duration {
	return time.Duration((from + (to-from)*rnd.Float64()) * float64(w.length))
}

// operate carries out the orders, as the commands of sluice do.
func (r *run) operate(ctx context.Context, c *queue.Client) {
	for _, o := range r.orders {
		time.Sleep(time.Until(r.begin.Add(o.at)))
		r.note("%v", o)
		_, revision := r.change(ctx, c, o, func(d *queue.Desired) {
			d.Mode, d.Rate = o.mode, nil
			if o.rate > 0 {
				d.Rate = &o.rate
			}
		})
		r.mu.Lock()
		o.stored = time.Now()
		r.mu.Unlock()
		o.all, o.missing = r.applied(ctx, c, o, revision, o.stored, o.follows)
		r.note("the order is stored, followed by %d, missing %v", len(o.follows), o.missing)
		time.Sleep(o.length)
		o.until, revision = r.change(ctx, c, o, func(d *queue.Desired) { d.Mode, d.Rate = queue.ModeRun, nil })
		r.note("the order is taken back")
		o.back, _ = r.applied(ctx, c, o, revision, time.Now(), map[string]time.Time{})
	}
}

// change writes what is wanted of an account until NATS takes it, and says when it began to.
func (r *run) change(ctx context.Context, c *queue.Client, o *order, set func(*queue.Desired)) (began time.Time, revision uint64) {
	for began = time.Now(); ; time.Sleep(time.Second) {
		try, cancel := context.WithTimeout(ctx, 3*time.Second)
		d, err := c.ChangeDesired(try, o.account, set)
		cancel()
		if err == nil {
			return began, d.Revision
		}
	}
}

// applyPatience is how long the commands of sluice wait for the instances to follow.
const applyPatience = 8 * time.Second

// applied waits until every instance that has a lease follows a revision, and says when the last did.
func (r *run) applied(
	ctx context.Context, c *queue.Client, o *order, revision uint64, from time.Time, follows map[string]time.Time,
) (all time.Time, missing []string) {
	for ; time.Since(from) < applyPatience; time.Sleep(200 * time.Millisecond) {
		try, cancel := context.WithTimeout(ctx, 3*time.Second)
		instances, err := c.Instances(try)
		accounts, _, errAsk := admin.Accounts(try, c)
		cancel()
		if missing = nil; err != nil || errAsk != nil {
			missing = []string{"NATS"}
			continue
		}
		for _, a := range accounts {
			if _, known := follows[a.Instance]; !known && a.Account == o.account && a.Applied >= revision {
				follows[a.Instance] = time.Now()
			}
		}
		for _, i := range instances {
			if _, ok := follows[i.Name]; !ok {
				missing = append(missing, i.Name)
			}
		}
		if len(missing) == 0 {
			return time.Now(), nil
		}
	}
	return time.Time{}, missing
}

// cancel cancels a message that is in the queue, as the command does, until there is an answer.
func (r *run) cancel(ctx context.Context, c *queue.Client, j *queue.Journal, p planned, seq uint64) {
	time.Sleep(p.cancel)
	r.mu.Lock()
	forgotten := r.within(r.taken[p.message.ID])
	r.mu.Unlock()
	if forgotten { // the sequence may be another message's by now
		return
	}
	for range 10 {
		try, stop := context.WithTimeout(ctx, 30*time.Second)
		answer, err := c.Cancel(try, j, seq, p.message.ID, func(ctx context.Context) (bool, error) {
			instances, err := c.Instances(ctx)
			if err != nil {
				return false, err
			}
			var alive []string
			for i := range instances {
				alive = append(alive, instances[i].Name)
			}
			return admin.Cancel(ctx, c, seq, alive)
		})
		stop()
		if err == nil {
			r.mu.Lock()
			r.cancelled = append(r.cancelled, cancelling{p.message.ID, time.Now(), answer})
			r.noteLocked("the operator cancels %s (seq %d): %s", p.message.ID, seq, answer.Result)
			r.mu.Unlock()
			return
		}
		r.note("the operator cannot cancel %s: %v", p.message.ID, err)
		time.Sleep(2 * time.Second)
	}
}

// obeyed: an instance that has said that it follows a pause or a drain submits nothing for that account until it is
// taken back, and neither does one that starts meanwhile. Where nothing else is wrong all follow in time.
func (r *run) obeyed(complain func(string, ...any)) {
	for _, o := range r.orders {
		if len(o.missing) > 0 && r.calm(o.stored.Add(-peace), o.stored.Add(applyPatience)) {
			complain("%v, and %v did not follow within %v", o, o.missing, applyPatience)
		}
		if o.mode == queue.ModeRun {
			continue
		}
		for _, s := range r.sent {
			if s.account != o.account || !s.at.Before(o.until) {
				continue
			}
			if since, ok := o.follows[s.instance]; ok && s.at.After(since) {
				complain("%v, %s followed at %.3f s and submitted to %s at %.3f s", o, s.instance, r.seconds(since), s.destination, r.seconds(s.at))
				break
			}
			if s.life.After(o.stored) {
				complain("%v, and a later life of %s submitted to %s at %.3f s", o, s.instance, s.destination, r.seconds(s.at))
				break
			}
		}
	}
}

func (r *run) seconds(at time.Time) float64 { return at.Sub(r.begin).Seconds() }

// calm says whether no fault was at work between two times.
func (r *run) calm(from, to time.Time) bool {
	for _, f := range r.faults {
		began, ended := r.begin.Add(f.at), f.ended
		if f.op != "" {
			if began, ended = f.struck, f.struck.Add(f.length); began.IsZero() {
				continue // what it waited for did not come
			}
		}
		if began.Before(to) && ended.After(from) {
			return false
		}
	}
	return true
}

// inFlightMost is how long after the answer in_flight a submit may still leave: a gateway that is cut off reads what is
// cancelled when it can.
const inFlightMost = 45 * time.Second

// cancels: what the operator was told of a message is true and stays so.
func (r *run) cancels(stories []*story, complain func(string, ...any)) {
	byID := map[string]*story{}
	for _, s := range stories {
		byID[s.message.ID] = s
		if s.cancel == 0 && len(s.finals) == 1 && s.finals[0].Type == queue.EventCancelled {
			complain("seq %d (%s) ended cancelled, and nobody cancelled it", s.seq, s.message.ID)
		}
	}
	for _, c := range r.cancelled {
		s := byID[c.id]
		if s == nil || len(s.finals) != 1 {
			continue // it is complained about elsewhere
		}
		final, allowed := s.finals[0].Type, time.Duration(0)
		switch c.answer.Result {
		case queue.CancelDone:
			if final != queue.EventCancelled {
				complain("seq %d (%s) ended %s, and the operator was told that it is cancelled", s.seq, c.id, final)
			}
		case queue.CancelTooLate:
			if final == queue.EventCancelled || c.answer.Final == nil || c.answer.Final.EventID != s.finals[0].EventID {
				complain("seq %d (%s) ended %s, and the operator was told that it has another outcome: %+v", s.seq, c.id, final, c.answer.Final)
			}
		case queue.CancelInFlight:
			allowed = inFlightMost
		case queue.CancelNotFound:
			complain("seq %d (%s) ended %s, and the operator was told that nothing is known of it", s.seq, c.id, final)
		}
		for _, sent := range r.sent {
			if sent.destination == s.message.To[1:] && sent.at.After(c.at.Add(allowed)) {
				complain("seq %d (%s) was submitted by %s %v after the operator was told: %s", s.seq, c.id, sent.instance, sent.at.Sub(c.at), c.answer.Result)
			}
		}
	}
}

// limit is a rate that an account may not exceed for a while.
type limit struct {
	from, to time.Time
	rate     float64
}

// limits are the rates of an account: as configured but while the operator wants another, each from when all instances
// follow it.
func (r *run) limits(account string) (all []limit) {
	from := r.begin
	for _, o := range r.orders {
		if o.account != account {
			continue
		}
		if r.declared > 0 && !from.IsZero() {
			all = append(all, limit{from, r.begin.Add(o.at), r.declared})
		}
		if o.rate > 0 && !o.all.IsZero() {
			all = append(all, limit{o.all, o.until, o.rate})
		} else if r.declared > 0 && o.rate == 0 && !o.all.IsZero() {
			all = append(all, limit{o.all, o.until, r.declared})
		}
		from = o.back
	}
	if r.declared > 0 && !from.IsZero() {
		all = append(all, limit{from, r.begin.Add(24 * time.Hour), r.declared})
	}
	return all
}
