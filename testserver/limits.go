package testserver

import (
	"math"
	"math/rand/v2"
	"time"

	"sluice/smpp/pdu"
	"sluice/testserver/limiter"
)

// LimitKind names a limit.
type LimitKind string

// The limits; see package limiter for what each does exactly.
const (
	// TokenBucket takes Rate a second and Burst at once (Rate/10, at least 1, when 0).
	TokenBucket LimitKind = "token_bucket"
	// CalendarSecond takes Rate in each second of the wall clock.
	CalendarSecond LimitKind = "calendar_second"
	// SlidingSecond takes Rate in any second.
	SlidingSecond LimitKind = "sliding_second"
	// Queue holds Size messages and is drained at Rate; full, it refuses with 0x14.
	Queue LimitKind = "queue"
	// DestinationQueue is a Queue for each destination.
	DestinationQueue LimitKind = "destination_queue"
	// Outstanding takes Size submits that wait for their response.
	Outstanding LimitKind = "outstanding"
	// LatencyOnly refuses nothing and answers Rate a second.
	LatencyOnly LimitKind = "latency_only"
	// Noise refuses Share of all submits whatever the load.
	Noise LimitKind = "noise"
)

// Scope is what a limit counts.
type Scope string

// The scopes. PerAccount is the default: one count for all binds of a system_id.
const (
	PerAccount Scope = "account"
	PerBind    Scope = "bind"
	PerServer  Scope = "server"
)

// Limit is one ceiling. A schedule in Rate runs from the first submit that the limit sees.
type Limit struct {
	Kind LimitKind `yaml:"kind"`
	// Account restricts the limit to one system_id; empty: each account has its own.
	Account string  `yaml:"account"`
	Scope   Scope   `yaml:"scope"`
	Rate    Rate    `yaml:"rate"`
	Burst   float64 `yaml:"burst"`
	Size    int     `yaml:"size"`
	Share   Share   `yaml:"share"`
	// Charge has refused submits cost as much as accepted ones (token_bucket and sliding_second).
	Charge bool `yaml:"charge"`
	// Floor is how many tokens a charging bucket can owe.
	Floor float64 `yaml:"floor"`
	// Penalty refuses everything until the client was silent for that long, once the limit has refused.
	Penalty time.Duration `yaml:"penalty"`
	// Status answers what is refused; 0x58 when 0, 0x14 for the queues.
	Status pdu.Status `yaml:"status"`
}

func (l Limit) status() uint32 {
	switch {
	case l.Status != 0:
		return uint32(l.Status)
	case l.Kind == Queue || l.Kind == DestinationQueue:
		return uint32(pdu.StatusMsgQFull)
	default:
		return uint32(pdu.StatusThrottled)
	}
}

// build makes the limiter of l, or nil for a kind that needs the destination.
func (l Limit) build(rnd *rand.Rand) limiter.Limiter {
	var built limiter.Limiter
	curve, status := l.Rate.curve(), l.status()
	switch l.Kind {
	case TokenBucket:
		burst := l.Burst
		if burst == 0 {
			burst = math.Max(1, curve(0)/10)
		}
		if l.Charge {
			built = limiter.ChargingBucket(curve, burst, l.Floor, status)
		} else {
			built = limiter.TokenBucket(curve, burst, status)
		}
	case CalendarSecond:
		built = limiter.CalendarSecond(curve, status)
	case SlidingSecond:
		if l.Charge {
			built = limiter.SlidingAttempts(curve, status)
		} else {
			built = limiter.SlidingSecond(curve, status)
		}
	case Queue:
		built = limiter.FiniteQueue(curve, l.Size, status)
	case Outstanding:
		built = limiter.Outstanding(l.Size, status)
	case LatencyOnly:
		built = limiter.LatencyOnly(curve)
	case Noise:
		built = limiter.Noise(limiter.All(), float64(l.Share), rnd, status)
	case DestinationQueue:
		return nil
	}
	if built != nil && l.Penalty > 0 {
		built = limiter.Penalty(built, l.Penalty)
	}
	return built
}

// buildAll makes the limiters of one scope for one account.
func buildAll(limits []Limit, scope Scope, account string, rnd *rand.Rand) []limiter.Limiter {
	var built []limiter.Limiter
	for _, l := range limits {
		if l.Scope != scope && (l.Scope != "" || scope != PerAccount) {
			continue
		}
		if l.Account != "" && l.Account != account {
			continue
		}
		if b := l.build(rnd); b != nil {
			built = append(built, b)
		}
	}
	return built
}

// maxDestinations bounds the queues that a destinationQueues holds; beyond it they all start again, empty.
const maxDestinations = 100_000

// destinationQueues refuses what is too much for one destination.
type destinationQueues struct {
	limit  Limit
	queues map[string]limiter.Limiter
}

func buildDestinations(limits []Limit, account string) []*destinationQueues {
	var built []*destinationQueues
	for _, l := range limits {
		if l.Kind == DestinationQueue && (l.Account == "" || l.Account == account) {
			built = append(built, &destinationQueues{limit: l, queues: map[string]limiter.Limiter{}})
		}
	}
	return built
}

func (d *destinationQueues) arrive(now time.Time, destination []byte) limiter.Verdict {
	queue := d.queues[string(destination)]
	if queue == nil {
		if len(d.queues) >= maxDestinations {
			clear(d.queues)
		}
		queue = limiter.FiniteQueue(d.limit.Rate.curve(), d.limit.Size, d.limit.status())
		d.queues[string(destination)] = queue
	}
	return queue.Arrive(now)
}

// ceiling is what an account could have sent: the limits in force since a moment.
type ceiling struct {
	from   time.Time
	limits limiter.Limiter // fresh ones, never asked to let anything pass
}

// capacitySlice is the step of the numeric integral.
const capacitySlice = 10 * time.Millisecond

// integrate adds up the messages that the ceilings would have taken from one moment to another. A ceiling holds
// until the next begins.
func integrate(ceilings []ceiling, from, to time.Time) float64 {
	sum := 0.0
	for i, c := range ceilings {
		begin, end := from, to
		if c.from.After(begin) {
			begin = c.from
		}
		if i+1 < len(ceilings) && ceilings[i+1].from.Before(end) {
			end = ceilings[i+1].from
		}
		c.limits.Capacity(c.from) // its schedule starts here
		for at := begin; at.Before(end); at = at.Add(capacitySlice) {
			width := min(capacitySlice, end.Sub(at))
			sum += c.limits.Capacity(at.Add(width/2)) * width.Seconds()
		}
	}
	return sum
}
