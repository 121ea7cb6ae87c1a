package testserver

import (
	"math"
	"math/rand/v2"
	"reflect"

	"sluice/testserver/limiter"
)

// build makes the limiter of l, or nil for a kind that needs the destination.
func (l Limit) build(rnd *rand.Rand) limiter.Limiter {
	built := l.kind(rnd)
	if built == nil {
		return nil
	}
	switch {
	case l.Penalty > 0:
		built = limiter.Penalty(built, l.Penalty)
	case l.Pause > 0:
		built = limiter.Pause(built, l.Pause)
	}
	if !l.Others.unset() {
		built = limiter.Shared(built, l.Others.curve(), rnd)
	}
	if l.Late != (Span{}) {
		built = limiter.Late(built, l.Late.Min, max(l.Late.Min, l.Late.Max), rnd)
	}
	switch l.Over {
	case BeSilent:
		built = limiter.Silent(built)
	case CloseSession:
		built = limiter.Closing(built)
	case RefuseSubmit:
	}
	if l.Every > 0 {
		built = limiter.During(built, l.For, l.Every)
	}
	return built
}

// kind makes the limiter without what its refusals lead to.
func (l Limit) kind(rnd *rand.Rand) limiter.Limiter {
	curve, status := l.Rate.curve(), l.status()
	switch l.Kind {
	case TokenBucket:
		return l.bucket()
	case CalendarSecond:
		return limiter.CalendarSecond(curve, status)
	case SlidingSecond:
		if l.Charge {
			return limiter.SlidingAttempts(curve, status)
		}
		return limiter.SlidingSecond(curve, status)
	case Queue:
		return limiter.FiniteQueue(curve, l.Size, status)
	case Outstanding:
		return limiter.Outstanding(l.Size, status)
	case LatencyOnly:
		return limiter.LatencyOnly(curve)
	case Delay:
		return limiter.Delay(l.By.Min, max(l.By.Min, l.By.Max), rnd)
	case Noise:
		return limiter.Noise(limiter.All(), float64(l.Share), rnd, status)
	case Quota:
		return limiter.Quota(limiter.QuotaConfig{
			N: float64(l.Count), Period: l.Period, Phase: l.Phase, Sliding: l.Sliding, Charge: l.Charge, Status: status,
		})
	case SessionQuota:
		return limiter.SessionQuota(l.Count, status)
	case Spacing:
		return limiter.Spacing(curve, math.Max(1, l.Burst), status)
	case DestinationQueue:
		return nil
	}
	return nil
}

func (l Limit) bucket() limiter.Limiter {
	curve, burst := l.Rate.curve(), l.Burst
	if burst == 0 {
		burst = math.Max(1, curve(0)/10)
	}
	if l.Charge {
		return limiter.ChargingBucket(curve, burst, l.Floor, l.status())
	}
	return limiter.TokenBucket(curve, burst, l.status())
}

// scope is where the limit counts: where it says, else the account, and the session for a quota of the session.
func (l Limit) scope() Scope {
	switch {
	case l.Scope != "":
		return l.Scope
	case l.Kind == SessionQuota || l.Slot > 0:
		return PerBind
	}
	return PerAccount
}

// plain says that what it refuses is answered, and on whatever bind it comes.
func (l Limit) plain() bool { return (l.Over == "" || l.Over == RefuseSubmit) && l.Slot == 0 }

func (r Rate) unset() bool { return reflect.ValueOf(r).IsZero() }
