package grid

import (
	"math"
	"math/rand"
)

// status is what an SMSC answers.
type status uint8

const (
	ok        status = iota
	refused          // 0x58 or 0x14
	otherwise        // 0x08
)

// smsc is a model of one: what it does with a submit that arrives now, in seconds, and how long that takes. The models
// are those of the study that the controller's constants were chosen in.
type smsc interface {
	arrive(now float64) (answer status, service float64)
	done(now float64)
	capacity(at float64) float64 // messages per second
}

// curve is a rate in messages per second over the time in seconds.
type curve func(at float64) float64

func constant(rate float64) curve { return func(float64) float64 { return rate } }

// steps are a fall to 30 % after 120 s and a rise to three times the rate after 240 s.
func steps(rate float64) curve {
	return func(at float64) float64 {
		switch {
		case at < 120:
			return rate
		case at < 240:
			return 0.3 * rate
		default:
			return 3 * rate
		}
	}
}

const slack = 1e-9

// bucket is a token bucket, and a finite queue as well: its free places are tokens.
type bucket struct {
	rate                curve
	depth, tokens, last float64
}

func newBucket(rate curve, depth float64) *bucket {
	return &bucket{rate: rate, depth: depth, tokens: depth}
}

func (b *bucket) arrive(now float64) (status, float64) {
	b.tokens = math.Min(b.depth, b.tokens+(now-b.last)*b.rate(now))
	b.last = now
	if b.tokens >= 1-slack {
		b.tokens--
		return ok, 0
	}
	return refused, 0
}
func (b *bucket) done(float64)                {}
func (b *bucket) capacity(at float64) float64 { return b.rate(at) }

// calendarSecond takes so many in each full second.
type calendarSecond struct {
	rate   float64
	second int64
	taken  float64
}

func (c *calendarSecond) arrive(now float64) (status, float64) {
	if s := int64(now); s != c.second {
		c.second, c.taken = s, 0
	}
	if c.taken+1 > c.rate+slack {
		return refused, 0
	}
	c.taken++
	return ok, 0
}
func (c *calendarSecond) done(float64)             {}
func (c *calendarSecond) capacity(float64) float64 { return c.rate }

// slidingSecond takes so many in any second.
type slidingSecond struct {
	rate  float64
	taken []float64
	head  int
}

func (s *slidingSecond) arrive(now float64) (status, float64) {
	for s.head < len(s.taken) && s.taken[s.head] <= now-1 {
		s.head++
	}
	if s.head > 100_000 {
		s.taken, s.head = append([]float64(nil), s.taken[s.head:]...), 0
	}
	if float64(len(s.taken)-s.head)+1 > s.rate+slack {
		return refused, 0
	}
	s.taken = append(s.taken, now)
	return ok, 0
}
func (s *slidingSecond) done(float64)             {}
func (s *slidingSecond) capacity(float64) float64 { return s.rate }

// outstanding refuses beyond its places, and serves each in the service time ± 15 %.
type outstanding struct {
	places, taken int
	service       float64
	rate          float64 // what a client with as many in flight reaches
	rnd           *rand.Rand
}

func (o *outstanding) arrive(float64) (status, float64) {
	o.taken++ // a refused one leaves at once, see done
	if o.taken > o.places {
		return refused, 0
	}
	return ok, o.service * (0.85 + 0.3*o.rnd.Float64())
}
func (o *outstanding) done(float64)             { o.taken-- }
func (o *outstanding) capacity(float64) float64 { return o.rate }

// latencyOnly refuses nothing; who sends faster waits longer.
type latencyOnly struct {
	rate, free float64
}

func (l *latencyOnly) arrive(now float64) (status, float64) {
	l.free = math.Max(l.free, now) + 1/l.rate
	return ok, l.free - now
}
func (l *latencyOnly) done(float64)             {}
func (l *latencyOnly) capacity(float64) float64 { return l.rate }

// penalty refuses everything after a refusal, until there was silence for so long.
type penalty struct {
	bucket
	length, until float64
}

func (p *penalty) arrive(now float64) (status, float64) {
	if now < p.until {
		p.until = now + p.length
		return refused, 0
	}
	answer, service := p.bucket.arrive(now)
	if answer == refused {
		p.until = now + p.length
	}
	return answer, service
}

// spurious answers a share of the submits whatever the load.
type spurious struct {
	smsc
	share  float64
	rnd    *rand.Rand
	answer status
	twice  bool // draws a second number, as the study's model of the grid does
}

func (s *spurious) arrive(now float64) (status, float64) {
	if s.rnd.Float64() < s.share {
		if s.twice {
			s.rnd.Float64()
		}
		return s.answer, 0
	}
	return s.smsc.arrive(now)
}
