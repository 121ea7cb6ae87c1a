package worlds

import (
	"math/rand/v2"
	"slices"
	"time"

	"sluice/testserver"
	"sluice/testserver/limiter"
)

// What happens seldom by chance happens in worlds of its own, one in eight each: [world.drawForgetting] and these. Each
// adds to what was drawn, or takes its place.
const (
	crowd  = 1 // everything is published at once, and a declared rate is shared
	reborn = 3 // power fails: everything starts again, NATS on an older copy of its store
	narrow = 4 // faults meet the writes that end a message
	dark   = 5 // the SMSCs refuse everything for minutes
	tardy  = 6 // they answer as late as the resend
	rush   = 7 // NATS stalls in the middle of a rush
)

func (w *world) drawKind(rnd *rand.Rand) {
	switch w.seed % 8 {
	case crowd:
		w.accounts, w.instances, w.declared, w.orders = w.accounts[:1], max(w.instances, 2+rnd.IntN(2)), 5, nil
		w.kind = "bucket of 10/s, declared"
		w.scenario.Limits = []testserver.Limit{{Kind: testserver.TokenBucket, Rate: testserver.Steps(limiter.Step{Rate: 10}), Burst: 5}}
		for i := range w.messages {
			w.messages[i].at = w.messages[i].at/60 + w.length/4*time.Duration(i%3)
		}
		slices.SortStableFunc(w.messages, func(a, b planned) int { return int(a.at - b.at) })
	case reborn:
		w.orders = nil // one that was taken back would stand again
		w.faults = slices.DeleteFunc(w.faults, func(f *fault) bool { return f.kind == restart })
		w.faults = append(w.faults, &fault{
			kind: rollback, instance: -1, at: w.within(rnd, 0.2, 0.7), length: time.Duration((1 + 9*rnd.Float64()) * float64(time.Second)),
		})
	case narrow:
		w.instances = max(w.instances, 2)
		w.faults = append(w.faults, &fault{ // for longer than the AckWait: another instance has its messages meanwhile
			kind: stall, instance: 0, link: natsLink, at: w.within(rnd, 0.2, 0.5), length: time.Duration(125+rnd.IntN(60)) * time.Second,
		})
		for i := range 9 {
			f := &fault{
				kind: []faultKind{kill, drop, straggle}[i%3], instance: rnd.IntN(w.instances), link: natsLink, op: opOutcome, nth: 1,
				at: time.Duration((0.05 + 0.7*rnd.Float64()) * float64(w.length)), length: time.Duration(15+rnd.IntN(10)) * time.Second,
			}
			if f.kind == drop {
				f.op, f.nth = opConfirm, 1+rnd.IntN(3)
			}
			w.faults = append(w.faults, f)
		}
	case dark:
		w.orders = nil
		w.faults = []*fault{{kind: failing, instance: -1, at: w.length / 4, length: 3 * time.Minute}}
	case tardy:
		w.faults = append(w.faults, &fault{kind: tardily, instance: -1, at: w.length / 8, length: w.length * 5 / 8})
	case rush:
		w.accounts, w.declared, w.kind, w.orders = w.accounts[:1], 0, "no limit", nil
		w.scenario = testserver.Scenario{Seed: w.scenario.Seed, Latency: testserver.Exactly(500 * time.Millisecond), Receipts: w.scenario.Receipts}
		w.faults = []*fault{
			{kind: pauseNATS, instance: -1, at: w.length / 3, length: time.Duration(8+rnd.IntN(7)) * time.Second},
			{kind: restart, instance: -1, at: w.length * 2 / 3, length: 2 * time.Second},
		}
		for i := range w.messages {
			w.messages[i].at = w.faults[i%2].at - 4*time.Second + time.Duration(i/2)*50*time.Millisecond
		}
		slices.SortStableFunc(w.messages, func(a, b planned) int { return int(a.at - b.at) })
	}
}
