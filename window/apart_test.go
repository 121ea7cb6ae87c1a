package window

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"sluice/testserver/limiter"
)

// lane is a bind of a rig that the SMSC answers by a bucket.
type lane struct {
	id       BindID
	name     string
	bucket   limiter.Limiter
	accepted int
	tries    int
}

// lanes are binds in turns, each answered after a round trip; there is always a message to send.
type lanes struct {
	c     *Controller
	rnd   *rand.Rand
	noise float64
	now   time.Time
	next  int
	all   []*lane
	out   []flown // in the order of their answers
	mute  []flown // without one
}

type flown struct {
	at     time.Time
	lane   *lane
	ticket Ticket
	signal Signal
}

const laneTrip = 20 * time.Millisecond

func newLanes(cfg Config, buckets ...limiter.Limiter) *lanes {
	l := &lanes{c: NewController(cfg), rnd: rand.New(rand.NewPCG(1, 2)), now: virtualStart()}
	for i, b := range buckets {
		name := string(rune('a' + i))
		l.all = append(l.all, &lane{id: l.c.AddBindAs(name), name: name, bucket: b})
	}
	return l
}

// run sends for so long.
func (l *lanes) run(length time.Duration) {
	for end := l.now.Add(length); l.now.Before(end); {
		soonest := end
		sent := false
		for i := range l.all {
			lane := l.all[(l.next+i)%len(l.all)]
			ok, at := l.c.Next(l.now, lane.id)
			if !ok && at.IsZero() {
				continue
			}
			if at.After(l.now) {
				soonest = earliest(soonest, at)
				continue
			}
			l.submit(lane)
			l.next, sent = (l.next+i+1)%len(l.all), true
			break
		}
		if sent {
			continue
		}
		for _, waits := range [][]flown{l.out, l.mute} {
			if len(waits) > 0 {
				soonest = earliest(soonest, waits[0].at)
			}
		}
		l.now = latest(l.now, soonest)
		for len(l.out) > 0 && !l.out[0].at.After(l.now) {
			f := l.out[0]
			l.out = l.out[1:]
			l.c.OnResult(l.now, f.ticket, f.signal)
		}
		for len(l.mute) > 0 && !l.mute[0].at.After(l.now) {
			f := l.mute[0]
			l.mute = l.mute[1:]
			l.c.OnResult(l.now, f.ticket, Signal{Answer: Lost})
		}
	}
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func (l *lanes) submit(at *lane) {
	f := flown{at: l.now.Add(laneTrip), lane: at, ticket: l.c.OnSend(latest(l.now, l.c.slotOf(at.id)), at.id)}
	at.tries++
	v := at.bucket.Arrive(l.now)
	if v.Silent {
		f.at = l.now.Add(timeout)
		l.mute = append(l.mute, f)
		return
	}
	f.at = f.at.Add(v.Service)
	if v.Refuse || l.rnd.Float64() < l.noise {
		f.signal.Answer = Refused
	} else {
		at.accepted++
	}
	l.out = append(l.out, f)
}

// slotOf is when the bind's next message is due, to which a punctual sender dates it.
func (c *Controller) slotOf(id BindID) time.Time { return c.bind(id).home.slot.Add(-late) }

func (l *lanes) rates(over time.Duration) (rates []float64) {
	for _, lane := range l.all {
		lane.accepted, lane.tries = 0, 0
	}
	l.run(over)
	for _, lane := range l.all {
		rates = append(rates, float64(lane.accepted)/over.Seconds())
	}
	return rates
}

func (l *lanes) count(why Reason) (n int) {
	for _, d := range l.c.Decisions() {
		if d.Reason == why {
			n++
		}
	}
	return n
}

func bucketOf(rate float64) limiter.Limiter {
	return limiter.TokenBucket(limiter.Constant(rate), max(2, rate/10), throttled)
}

// One bind of four takes a tenth of what the others take: it has a ceiling of its own soon, and the others lose nothing.
func TestUnequalBinds(t *testing.T) {
	l := newLanes(Config{NoiseMax: .06}, bucketOf(50), bucketOf(50), bucketOf(50), bucketOf(5))
	l.run(3 * time.Minute)
	rates := l.rates(5 * time.Minute)
	t.Logf("%.1f/s", rates)
	for i, want := range []float64{45, 45, 45, 4} {
		if rates[i] < want {
			t.Errorf("bind %d: %.1f/s accepted, want at least %v: %.1f", i+1, rates[i], want, rates)
		}
	}
	s := l.c.Snapshot(l.now)
	if own := s.Binds[3].Ceiling; own < 4 || own > 5.5 {
		t.Errorf("the slow bind's own ceiling is %.1f/s, want about 5/s", own)
	}
	if s.Ceiling < 140 || s.Ceiling > 165 {
		t.Errorf("the account's ceiling is %.1f/s, want about 155", s.Ceiling)
	}
}

// The bind breaks and comes again: by its name the ceiling is known. The operator's word forgets it.
func TestOwnCeilingOutlivesARebind(t *testing.T) {
	l := newLanes(Config{}, bucketOf(80), bucketOf(8))
	l.run(2 * time.Minute)
	slow := l.all[1]
	l.c.RemoveBind(l.now, slow.id)
	l.out = nil
	slow.id = l.c.AddBindAs(slow.name)
	if own := l.c.Snapshot(l.now).Binds[1].Ceiling; own < 6 || own > 9 {
		t.Errorf("after the rebind its ceiling is %.1f/s, want about 8", own)
	}
	other := l.c.AddBindAs("another")
	if own := l.c.Snapshot(l.now).Binds[2].Ceiling; own != 0 {
		t.Errorf("bind %d, which is new, has a ceiling of %.1f/s, want none", other, own)
	}
	l.c.Forget(l.now)
	for _, b := range l.c.Snapshot(l.now).Binds {
		if b.Ceiling != 0 {
			t.Errorf("after Forget bind %d has a ceiling of %.1f/s", b.ID, b.Ceiling)
		}
	}
}

// Binds with one limit for all, or with as much each, share their ceiling: taking turns may well put every refusal on the
// same bind for a while, and so may noise.
func TestEqualBindsShareTheirCeiling(t *testing.T) {
	for _, n := range []int{2, 4} {
		for _, noise := range []float64{0, .02} {
			for seed := range uint64(10) {
				one := bucketOf(50)
				buckets := make([]limiter.Limiter, n)
				for i := range buckets {
					if buckets[i] = one; seed%2 == 1 {
						buckets[i] = bucketOf(50 / float64(n))
					}
				}
				l := newLanes(Config{NoiseMax: .06}, buckets...)
				l.rnd, l.noise = rand.New(rand.NewPCG(seed, 3)), noise
				for range 60 {
					l.run(time.Minute)
					if l.count(ReasonApart) > 0 {
						t.Errorf("%d binds, %.0f %% noise, seed %d: one was set apart", n, 100*noise, seed)
						break
					}
				}
			}
		}
	}
}

// A bind that takes as much as the others again shares their ceiling again.
func TestBindComesBackToTheOthers(t *testing.T) {
	slow := limiter.TokenBucket(limiter.Steps([]limiter.Step{{At: 0, Rate: 5}, {At: 4 * time.Minute, Rate: 50}}), 5, throttled)
	l := newLanes(Config{}, bucketOf(50), bucketOf(50), slow)
	l.run(3 * time.Minute)
	if own := l.c.Snapshot(l.now).Binds[2].Ceiling; own == 0 {
		t.Fatal("the slow bind has no ceiling of its own")
	}
	l.run(20 * time.Minute)
	if own := l.c.Snapshot(l.now).Binds[2].Ceiling; own != 0 {
		t.Errorf("it has a ceiling of %.1f/s, want none any more", own)
	}
	if rates := l.rates(time.Minute); rates[2] < 40 {
		t.Errorf("%.1f/s accepted, want 40 and more on the third", rates)
	}
}

// What is declared, and how much may be unanswered, holds for all binds together, with ceilings of their own or not.
func TestCapsHoldWithOwnCeilings(t *testing.T) {
	l := newLanes(Config{Declared: 60, MaxWindow: 5}, bucketOf(50), bucketOf(50), bucketOf(4))
	for range 1200 {
		l.run(100 * time.Millisecond)
		if s := l.c.Snapshot(l.now); s.Pace > 60.01 || s.Unanswered > 5 {
			t.Fatalf("pace %.2f/s with %d unanswered, the caps are 60/s and 5", s.Pace, s.Unanswered)
		}
	}
	if l.count(ReasonApart) != 1 {
		t.Errorf("%d binds were set apart, want one", l.count(ReasonApart))
	}
	if sum := l.rates(time.Minute); sum[0]+sum[1]+sum[2] < 52 {
		t.Errorf("%.1f/s accepted, want at least 52 together", sum)
	}
	l.c.Configure(l.now, Config{Declared: 20, MaxWindow: 5})
	l.run(5 * time.Second)
	if s := l.c.Snapshot(l.now); s.Pace > 20.01 {
		t.Errorf("pace %.2f/s, 20/s is declared", s.Pace)
	}
}

func TestOwnCeilingIsSaid(t *testing.T) {
	l := newLanes(Config{}, bucketOf(80), bucketOf(8))
	l.run(time.Minute)
	said := ""
	for _, d := range l.c.Decisions() {
		said += d.String() + "\n"
	}
	for _, want := range []string{"bind 2 has ", "of the submits: it takes ", "bind 2: probe to "} {
		if !strings.Contains(said, want) {
			t.Errorf("no decision says %q:\n%s", want, said)
		}
	}
}
