package gateway

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"sluice/classify"
	"sluice/queue"
	"sluice/window"
)

// mostOtherProbes is how many messages a probe passes over to find one that the last probe was not like.
const mostOtherProbes = 20

// faults holds the state failing of one account.
type faults struct {
	mu    sync.Mutex
	state failing
	seed  maphash.Seed
	once  sync.Once
	news  chan struct{} // closed with the next change

	taking taking
	met    bool // there has been a session

	lastNumber uint64 // of the last probe
	lastTenant string
}

func (f *faults) number(digits string) uint64 {
	f.once.Do(func() { f.seed = maphash.MakeSeed() })
	return maphash.String(f.seed, digits)
}

// look returns a copy of what the state is, and a channel that is closed with the next change.
func (f *faults) look() (failing, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.news == nil {
		f.news = make(chan struct{})
	}
	return f.state, f.news
}

func (f *faults) ownFault(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state.ownFault(now)
}

// inRun says that an attempt used now is given back should the account prove to be failing.
func (f *faults) inRun(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state.answers > 0 && !now.Before(f.state.from)
}

// hear takes an answer, and says whether only probes may go out before and after it.
func (f *faults) hear(now time.Time, a accountAnswer) (c change, probing bool, was failing) {
	f.mu.Lock()
	defer f.mu.Unlock()
	was = f.state
	c = f.state.hear(now, a)
	if f.news != nil && (f.state.probing || was.probing) {
		close(f.news)
		f.news = nil
	}
	return c, f.state.probing, was
}

// claim takes since when another instance finds the account failing, see failing.claim.
func (f *faults) claim(now, since time.Time) (c change, probing bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c = f.state.claim(now, since)
	if c != noChange && f.news != nil {
		close(f.news)
		f.news = nil
	}
	return c, f.state.probing
}

// taken takes those attempts back that fall into a time in which the account was failing.
func (f *faults) taken(st queue.State) queue.State {
	if len(st.AttemptTimes) == 0 {
		return st
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var left []time.Time
	for _, at := range st.AttemptTimes {
		if f.state.within(at) {
			st.Attempts = max(st.Attempts-1, 0)
			continue
		}
		left = append(left, at)
	}
	st.AttemptTimes = left
	return st
}

// climbs returns when the next submit may go while the account climbs back to its pace.
func (f *faults) climbs(now time.Time, pace float64) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state.climb.take(now, pace)
}

// takes returns what tells whether the account takes messages, and whether it is whole: neither tested nor climbing back
// to its pace in submits per second.
func (f *faults) takes(now time.Time, pace float64) (t taking, whole bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.taking, f.state.since.IsZero() && f.state.elsewhere.IsZero() && f.taking.silent.IsZero() && f.state.climb.over(now, pace)
}

func (f *faults) isSilent() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.taking.silent.IsZero()
}

// silence is taking.silence at a pace in submits per second.
func (f *faults) silence(now time.Time, pace float64, responseTimeout time.Duration, room bool) (began, test bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.taking.silence(now, f.taking.patience(false, pace), responseTimeout, room)
}

// joined notes the first session after there was none for a while. An account whose traffic others had meanwhile climbs
// back to its pace.
func (f *faults) joined(now time.Time, unbound time.Duration, relieved bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.taking.joined(now)
	f.met = true
	if relieved && unbound >= failoverAfterStrict && !f.state.probing && f.taking.silent.IsZero() {
		f.state.climb = climb{began: now}
	}
}

func (f *faults) offered(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.taking.offered(now)
}

// answered notes an answer, and says whether it ends a silence. An account that took nothing for so long that others have
// its traffic, where there are any, climbs back to its pace in submits per second.
func (f *faults) answered(now time.Time, class classify.Class, rtt time.Duration, pace float64, relieved bool) (spoke bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	since := f.taking.since
	spoke = !f.taking.silent.IsZero()
	f.taking.answered(class, rtt)
	long := class == classify.OK && !since.IsZero() && now.Sub(since) >= f.taking.patience(true, pace)
	if relieved && (spoke || long) && !f.state.probing && f.state.climb.began.IsZero() {
		f.state.climb = climb{began: now}
	}
	f.climbed(now, class)
	return spoke
}

// climbed tells a climb what an answer says of the account, under the lock.
func (f *faults) climbed(now time.Time, class classify.Class) {
	if class != classify.Terminal && class != classify.Config {
		f.state.climb.hear(now, class == classify.OK)
	}
}

// unanswered notes a submit without an answer.
func (f *faults) unanswered(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.climb.hear(now, false)
}

// likeLast says that a probe would be like the last one, and notes it when it is not to be passed over.
func (f *faults) likeLast(number uint64, tenant string, passOver bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if passOver && (number == f.lastNumber || tenant != "" && tenant == f.lastTenant) {
		return true
	}
	f.lastNumber, f.lastTenant = number, tenant
	return false
}

// temporary lets an answer have its effect on the state failing.
func (a *account) temporary(now time.Time, d *delivery, res *result) {
	said := accountAnswer{
		class: res.verdict.Class, status: res.status, number: a.faults.number(d.msg.Dest().Digits), unanswered: res.unanswered,
	}
	if n := len(d.letter.state.AttemptTimes); n > 0 {
		said.before = d.letter.state.AttemptTimes[n-1]
	}
	c, probing, was := a.faults.hear(now, said)
	if probing != was.probing || c != noChange {
		why := ""
		if c == beganFailing {
			why = fmt.Sprintf("the SMSC answers nothing but temporary errors, the last one %s", res.verdict.Name)
		}
		a.flow.probeOnly(now, forErrors, probing, why)
	}
	if c != noChange {
		a.moved() // the other instances are to know
	}
	switch c {
	case beganFailing:
		state, _ := a.faults.look()
		a.storeSpell(queue.Spell{From: state.since.UTC(), To: now.UTC()})
		a.log.Warn("the account is failing: the SMSC answers nothing but temporary errors, only probes are sent",
			"code", res.status.String(), "status", res.verdict.Name, "answers", state.answers, "since", state.since)
	case endedFailing:
		a.storeSpell(queue.Spell{From: was.since.UTC(), To: now.UTC()})
		a.log.Info("the account is failing no longer: the SMSC is there", "failed_for", now.Sub(was.since).Round(time.Millisecond),
			"probes", was.probes, "answers", was.answers)
	case noChange:
	}
}

// heed takes which other instance finds the account failing, and since when: this one sends only probes as well.
func (a *account) heed(now time.Time, instance string, since time.Time) {
	switch c, probing := a.faults.claim(now, since); c {
	case beganFailing:
		a.flow.probeOnly(now, forErrors, true, fmt.Sprintf("the instance %q finds that the SMSC answers nothing but temporary errors", instance))
		a.log.Info("another instance finds the account failing: only probes are sent here too", "instance", instance, "since", since)
	case endedFailing:
		a.flow.probeOnly(now, forErrors, probing, "")
		a.log.Info("no other instance finds the account failing any more")
	case noChange:
	}
}

// summarize adds to the account's part of the lease what tells the others whether it takes messages.
func (f *faults) summarize(now time.Time, bound bool, pace float64, part *queue.Part) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if since := f.state.since; bound && !since.IsZero() {
		part.FailingFor = max(now.Sub(since).Milliseconds(), 1)
	}
	if since := f.taking.since; !since.IsZero() {
		part.IdleFor = max(now.Sub(since).Milliseconds(), 1)
	}
	part.Returning = !f.met || !f.state.elsewhere.IsZero() || !f.taking.silent.IsZero() || !f.state.climb.over(now, pace)
}

// storeSpell keeps a time in which the account was failing where it outlives this instance and reaches the others. The
// caller carries a message.
func (a *account) storeSpell(s queue.Spell) {
	if a.store == nil {
		return
	}
	a.carrying.Go(func() {
		ctx, cancel := context.WithTimeout(a.work, writeGrace)
		defer cancel()
		if err := a.store.NoteSpell(ctx, a.name, s); err != nil {
			a.log.Warn("from when to when the account was failing could not be stored: other instances count attempts in that time",
				"from", s.From, "to", s.To, "error", err)
		}
	})
}

// learn takes what is stored of the times in which the account was failing.
func (f *faults) learn(stored []queue.Spell) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range stored {
		f.state.learn(spell{s.From, s.To})
	}
}

// probe sends one message at a time while only probes may go out, until ctx ends.
func (a *account) probe(ctx context.Context) {
	for ctx.Err() == nil {
		state, news := a.faults.look()
		wait := time.Hour
		if state.probing {
			wait = time.Until(state.next)
		}
		if !state.probing || wait > 0 {
			timer := time.NewTimer(wait)
			select {
			case <-ctx.Done():
			case <-news:
			case <-timer.C:
			}
			timer.Stop()
			continue
		}
		if !a.probeOnce(time.Hour) && !pause(ctx, 250*time.Millisecond) {
			return
		}
	}
}

// probeOnce sends one probe; it returns false when there was none to send for so long.
func (a *account) probeOnce(within time.Duration) bool {
	b := a.anyBind()
	if b == nil || (*b.probe.Load()).Err() != nil {
		return false
	}
	permit, err := a.gate.AcquireOn(b.id)
	if err != nil {
		return false
	}
	defer permit.Release(window.Signal{Answer: window.Lost})
	ctx, cancel := context.WithTimeout(*b.probe.Load(), within)
	defer cancel()
	for passed := 0; ; passed++ {
		job, err := a.intake.Next(ctx)
		if err != nil {
			return false
		}
		if other := a.rival(job.State()); other != nil {
			a.giveBack(job, time.Now().Add(failoverAfter))
			continue
		}
		msg, err := job.Message()
		if err == nil && a.faults.likeLast(a.faults.number(msg.Dest().Digits), msg.Tenant, passed < mostOtherProbes && a.intake.Unseen()) {
			a.giveBack(job, time.Now().Add(passedOverFor))
			continue
		}
		a.deliverAs(permit, b, job, true, false)
		return true
	}
}

// anyBind is one of the live binds, nil when there is none.
func (a *account) anyBind() *bind {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, b := range a.binds {
		return b
	}
	return nil
}

// longestPark is how long a message waits at most before it asks again what its account is doing.
const longestPark = 10 * time.Second

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// awaitClimb waits while the account climbs back to its pace.
func (a *account) awaitClimb(ctx context.Context) error {
	_, pace, _ := a.gate.Size()
	now := time.Now()
	wait := a.faults.climbs(now, pace).Sub(now)
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
