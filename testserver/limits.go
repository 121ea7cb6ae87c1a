package testserver

import (
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
	// Delay refuses nothing and answers what the limits before it have let through only after By.
	Delay LimitKind = "delay"
	// Quota takes Count in each Period of the clock, or with Sliding in any.
	Quota LimitKind = "quota"
	// SessionQuota takes Count in each session, and then nothing until the client binds again.
	SessionQuota LimitKind = "session_quota"
	// Spacing takes Rate a second with 1/Rate between one and the next, Burst of them (1 when 0) at once after a pause.
	Spacing LimitKind = "spacing"
)

// Over is what becomes of a submit that a limit does not let through.
type Over string

// What becomes of it; RefuseSubmit is the default.
const (
	// RefuseSubmit answers it with Status.
	RefuseSubmit Over = "refuse"
	// BeSilent does not answer it, nor take it.
	BeSilent Over = "silent"
	// CloseSession ends the session (FIN) instead of an answer; see BindRules.Lockout.
	CloseSession Over = "close"
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
	// Charge has refused submits cost as much as accepted ones (token_bucket, sliding_second and quota).
	Charge bool `yaml:"charge"`
	// Floor is how many tokens a charging bucket can owe.
	Floor float64 `yaml:"floor"`
	// Penalty refuses everything until the client was silent for that long, once the limit has refused.
	Penalty time.Duration `yaml:"penalty"`
	// Pause refuses everything for that long after a refusal, whatever the client does. It excludes Penalty.
	Pause time.Duration `yaml:"pause"`
	// Count, Period, Phase and Sliding belong to the quotas: Count submits in each Period, which begins Phase after its
	// multiples since midnight UTC on a Monday. A session_quota has a Count only.
	Count   int           `yaml:"count"`
	Period  time.Duration `yaml:"period"`
	Phase   time.Duration `yaml:"phase"`
	Sliding bool          `yaml:"sliding"`
	// By belongs to delay.
	By Span `yaml:"by"`
	// Late is how long the SMSC takes to answer what it refuses; set any_order for the others to pass it.
	Late Span `yaml:"late"`
	// Others is another sender that submits to the limit too, as many a second, at random moments.
	Others Rate `yaml:"others"`
	// For and Every have the limit act only in the last For of every Every, counted from the first submit.
	For   time.Duration `yaml:"for"`
	Every time.Duration `yaml:"every"`
	// Over says what becomes of what is too much.
	Over Over `yaml:"over"`
	// Slot restricts a limit per bind to one bind of the account: the first that binds has slot 1, and a bind that comes
	// later the lowest that is free. 0: every bind has the limit.
	Slot int `yaml:"slot"`
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

// buildAll makes the limiters of one scope for one account; those of a bind are for the bind in that slot.
func buildAll(limits []Limit, scope Scope, account string, slot int, rnd *rand.Rand) []limiter.Limiter {
	var built []limiter.Limiter
	for _, l := range limits {
		if l.scope() != scope || l.Slot != 0 && l.Slot != slot {
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
