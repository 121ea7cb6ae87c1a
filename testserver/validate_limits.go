package testserver

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

func limitKinds() []LimitKind {
	return []LimitKind{
		TokenBucket, CalendarSecond, SlidingSecond, Queue, DestinationQueue, Outstanding, LatencyOnly, Noise, Delay, Quota,
		SessionQuota, Spacing,
	}
}

// is reports whether the limit is of one of the kinds.
func (l *Limit) is(kinds ...LimitKind) bool { return slices.Contains(kinds, l.Kind) }

func (l *Limit) check(f *findings, field string) {
	if l.Kind == "" {
		var all []string
		for _, kind := range limitKinds() {
			all = append(all, string(kind))
		}
		f.wrong(field+".kind", `""`, "write one of "+strings.Join(all, ", "))
	}
	oneOf(f, field+".kind", l.Kind, limitKinds()...)
	l.checkScope(f, field)
	l.checkNumbers(f, field)
	l.checkQuota(f, field)
	l.checkRefusals(f, field)
	l.checkTimes(f, field)
}

func (l *Limit) checkScope(f *findings, field string) {
	oneOf(f, field+".scope", l.Scope, PerAccount, PerBind, PerServer)
	if l.Scope == PerServer && l.Account != "" {
		f.wrong(field+".account", fmt.Sprintf("%q", l.Account), "a limit of the server is for all accounts: leave account out")
	}
	if l.Kind == DestinationQueue && l.Scope != "" && l.Scope != PerAccount {
		f.wrong(field+".scope", string(l.Scope), "destination_queue counts for each account: leave scope out")
	}
	if l.Kind == SessionQuota && l.scope() != PerBind {
		f.wrong(field+".scope", string(l.Scope), "session_quota counts for each bind: leave scope out")
	}
	if l.Slot < 0 {
		f.wrong(field+".slot", l.Slot, "give the number of the bind in its account, 1 or more, or 0 for every bind")
	}
	if l.Slot > 0 && l.scope() != PerBind {
		f.wrong(field+".slot", l.Slot, "only a limit per bind is for one of them: write scope: bind")
	}
}

// checkNumbers looks at what says how much.
func (l *Limit) checkNumbers(f *findings, field string) {
	if l.is(TokenBucket, CalendarSecond, SlidingSecond, LatencyOnly, Queue, DestinationQueue, Spacing) {
		l.Rate.check(f, field+".rate")
	}
	if l.is(Queue, DestinationQueue, Outstanding) && l.Size < 1 {
		f.wrong(field+".size", l.Size, "give the number of places, 1 or more")
	}
	if l.Kind == Noise && (l.Share <= 0 || l.Share > 1) {
		f.wrong(field+".share", float64(l.Share), "give the share of submits to refuse, such as 1%")
	}
	if l.Burst < 0 || l.Burst > 0 && l.Burst < 1 {
		f.wrong(field+".burst", l.Burst, "a bucket needs room for one token: give 1 or more, or 0 for a tenth of the rate")
	}
	if l.Floor < 0 {
		f.wrong(field+".floor", l.Floor, "give the number of tokens the bucket may owe, 0 or more")
	}
	if l.Charge && !l.is(TokenBucket, SlidingSecond, Quota) {
		f.wrong(field+".charge", true, "only token_bucket, sliding_second and quota charge for what they refuse")
	}
	l.By.check(f, field+".by")
	switch hasTime := max(l.By.Min, l.By.Max) > 0; {
	case l.Kind == Delay && !hasTime:
		f.wrong(field+".by", l.By.Max, "give the time that an answer takes, such as 1s-3s")
	case l.Kind != Delay && hasTime:
		f.wrong(field+".by", l.By.Max, "only delay takes its time by itself: use late for refusals, or latency of the scenario")
	}
}

func (l *Limit) checkQuota(f *findings, field string) {
	quotas := l.is(Quota, SessionQuota)
	switch {
	case quotas && l.Count < 1:
		f.wrong(field+".count", l.Count, "give the number of submits, 1 or more")
	case !quotas && l.Count != 0:
		f.wrong(field+".count", l.Count, "only quota and session_quota count: leave it out")
	}
	switch {
	case l.Kind == Quota && l.Period <= 0:
		f.wrong(field+".period", l.Period, "give the time that the count is for, such as 1m or 24h")
	case l.Kind != Quota && (l.Period != 0 || l.Phase != 0 || l.Sliding):
		f.wrong(field, fmt.Sprintf("period %v, phase %v, sliding %v", l.Period, l.Phase, l.Sliding), "these belong to quota: leave them out")
	case l.Phase < 0 || l.Phase > 0 && l.Phase >= l.Period:
		f.wrong(field+".phase", l.Phase, "give a time from 0 to below the period")
	case l.Phase > 0 && l.Sliding:
		f.wrong(field+".phase", l.Phase, "a sliding quota has no phase: leave one of them out")
	}
}

// checkRefusals looks at what becomes of refusals.
func (l *Limit) checkRefusals(f *findings, field string) {
	oneOf(f, field+".over", l.Over, RefuseSubmit, BeSilent, CloseSession)
	l.Late.check(f, field+".late")
	for _, x := range []struct {
		name  string
		value time.Duration
	}{{"penalty", l.Penalty}, {"pause", l.Pause}} {
		if x.value < 0 {
			f.wrong(field+"."+x.name, x.value, "give a time such as 5s, or 0 for none")
		}
	}
	if l.Penalty > 0 && l.Pause > 0 {
		f.wrong(field, fmt.Sprintf("penalty %v and pause %v", l.Penalty, l.Pause), "choose one of them")
	}
	if l.Late != (Span{}) && l.Over != "" && l.Over != RefuseSubmit {
		f.wrong(field+".late", l.Late.Max, "only an answer is late: leave over out")
	}
	if l.is(Delay, LatencyOnly) && (l.Over != "" || l.Late != (Span{}) || l.Penalty > 0 || l.Pause > 0) {
		f.wrong(field+".kind", string(l.Kind), "it refuses nothing: leave over, late, penalty and pause out")
	}
	if l.Kind == DestinationQueue && (!l.plain() || l.Late != (Span{}) || l.Penalty > 0 || l.Pause > 0 || l.Every > 0 || !l.Others.unset()) {
		f.wrong(field+".kind", string(l.Kind), "it only refuses: leave over, late, penalty, pause, others and every out")
	}
}

// checkTimes looks at when the limit acts, and who else meets it.
func (l *Limit) checkTimes(f *findings, field string) {
	if l.For != 0 || l.Every != 0 {
		checkPart(f, field, l.For, l.Every)
		if l.is(Outstanding, LatencyOnly, Delay) {
			f.wrong(field+".every", l.Every, string(l.Kind)+" acts all the time: leave for and every out")
		}
	}
	if !l.Others.unset() {
		l.Others.checkFrom(f, field+".others", true)
		if l.is(Outstanding, LatencyOnly, Delay, Noise, SessionQuota) {
			f.wrong(field+".others", string(l.Kind), "it is no rate that others could use up: leave others out")
		}
	}
}

// checkPart looks at a part of a period.
func checkPart(f *findings, field string, length, every time.Duration) {
	if length <= 0 || every <= length {
		f.wrong(field, fmt.Sprintf("for %v, every %v", length, every), "give both, the part shorter than the whole, such as for: 20s, every: 3m")
	}
}

func (r Rate) check(f *findings, field string) { r.checkFrom(f, field, false) }

// checkFrom checks a rate that must be above 0, or may be 0 at times.
func (r Rate) checkFrom(f *findings, field string, orNone bool) {
	const remedy = "give messages per second above 0, as " + rateForms
	low := func(rate float64) bool { return !(rate > 0) && !(orNone && rate == 0) }
	switch {
	case r.Period < 0:
		f.wrong(field+".period", r.Period, "give a time such as 60s")
	case r.Period > 0:
		if r.Mean <= 0 || r.Swing < 0 || r.Swing >= 1 {
			f.wrong(field, fmt.Sprintf("mean %v, swing %v", r.Mean, r.Swing), "the mean is above 0, the swing from 0 to below 1")
		}
	case len(r.Steps) > 0:
		for i, step := range r.Steps {
			if low(step.Rate) {
				f.wrong(fmt.Sprintf("%s[%d].rate", field, i), step.Rate, remedy)
			}
			if i > 0 && step.At <= r.Steps[i-1].At {
				f.wrong(fmt.Sprintf("%s[%d].at", field, i), step.At, "times must ascend")
			}
		}
	case r.From != 0 || r.To != 0 || r.Over != 0:
		if low(r.From) || low(r.To) || r.Over <= 0 {
			f.wrong(field, fmt.Sprintf("from %v, to %v, over %v", r.From, r.To, r.Over), "give two rates above 0 and a time such as 5m")
		}
	case r.For != 0 || r.Every != 0 || r.Low != 0:
		checkPart(f, field, r.For, r.Every)
		if low(r.PerSecond) || low(r.Low) {
			f.wrong(field, fmt.Sprintf("rate %v, low %v", r.PerSecond, r.Low), "give two rates above 0")
		}
	case low(r.PerSecond):
		f.wrong(field, r.PerSecond, remedy)
	}
}
