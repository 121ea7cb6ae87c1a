package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// kind is a way to break something.
type kind string

// The kinds of faults.
const (
	kindKill      kind = "kill"      // kill -9, and a start a little later
	kindFreeze    kind = "freeze"    // SIGSTOP, then SIGCONT
	kindRestart   kind = "restart"   // an orderly stop and start
	kindReset     kind = "reset"     // all connections of a link get RST
	kindStall     kind = "stall"     // nothing passes a link, in one direction or both, and nobody is told
	kindCut       kind = "cut"       // a gateway loses NATS while its SMSC link stands
	kindPause     kind = "pause"     // all gateways are killed and stay down past every redelivery and resend
	kindDiskFull  kind = "disk_full" // the disk of NATS
	kindSwallow   kind = "swallow"   // accepted and never answered
	kindDelay     kind = "delay"     // answered after the response timeout
	kindDuplicate kind = "duplicate" // answered twice
	kindReorder   kind = "reorder"   // answered out of order
	kindThrottle  kind = "throttle"  // the ceiling falls
	kindRefuse    kind = "refuse"    // system errors and full queues
	kindHangUp    kind = "hang_up"   // the SMSC resets the connection, before or after an answer
	kindFailing   kind = "failing"   // the SMSC answers 0x08 to everything
	kindForeign   kind = "foreign"   // receipts with ids that nobody was given
)

// The things that break. A link is named after its gateway.
const (
	gateway1 = "gw1"
	gateway2 = "gw2"
	smsc     = "smsc"
	broker   = "nats"
)

func smppLink(gateway string) string { return gateway + "-smsc" }
func natsLink(gateway string) string { return gateway + "-nats" }

// fault is one entry of the schedule.
type fault struct {
	at, length time.Duration // from the start; how long it lasts
	kind       kind
	targets    []string // processes, links or the SMSC's behaviour
	how        string   // the direction of a stall
}

func (f fault) String() string {
	return fmt.Sprintf("%7.1fs %-9s %s %s for %.1fs", f.at.Seconds(), f.kind, strings.Join(f.targets, "+"), f.how, f.length.Seconds())
}

// card is one fault of the deck.
type card struct {
	kind        kind
	targets     []string // one of them, or with all every one
	all         bool
	least, most time.Duration // how long it lasts
}

// deck has every kind once or more. The schedule goes through it, shuffled, again and again: no kind is left out of a
// run that is long enough.
func deck(short bool) []card {
	long := 20 * time.Second // of a freeze or a cut
	if short {
		long = 12 * time.Second
	}
	gateways := []string{gateway1, gateway2}
	behaviour := func(k kind) card { return card{k, []string{string(k)}, false, 3 * time.Second, long} }
	return []card{
		{kindKill, gateways, false, 100 * time.Millisecond, 5 * time.Second},
		{kindKill, gateways, false, 100 * time.Millisecond, 2 * time.Second},
		{kindKill, []string{smsc}, false, 100 * time.Millisecond, 5 * time.Second},
		{kindKill, []string{broker}, false, 100 * time.Millisecond, 5 * time.Second},
		{kindFreeze, gateways, false, long, long},
		{kindFreeze, []string{smsc}, false, long / 4, long},
		{kindFreeze, []string{broker}, false, long / 4, long},
		{kindFreeze, []string{broker}, false, brokerStall, brokerStall},
		{kindRestart, []string{broker}, false, 100 * time.Millisecond, time.Second},
		{kindRestart, gateways, false, 100 * time.Millisecond, long},
		{kindReset, []string{smppLink(gateway1), smppLink(gateway2)}, false, 0, 0},
		{kindReset, []string{natsLink(gateway1), natsLink(gateway2)}, false, 0, 0},
		{kindStall, []string{smppLink(gateway1), smppLink(gateway2)}, false, time.Second, long},
		{kindStall, []string{natsLink(gateway1), natsLink(gateway2)}, false, time.Second, long},
		{kindCut, []string{natsLink(gateway1), natsLink(gateway2)}, false, long, 3 * long},
		{kindCut, []string{natsLink(gateway1), natsLink(gateway2)}, true, long / 2, long},
		{kindPause, gateways, true, 18 * time.Second, 25 * time.Second},
		{kindDiskFull, []string{broker}, false, 5 * time.Second, long},
		behaviour(kindSwallow), behaviour(kindDelay), behaviour(kindDuplicate), behaviour(kindReorder),
		behaviour(kindThrottle), behaviour(kindRefuse), behaviour(kindHangUp),
		behaviour(kindForeign),
		{kindFailing, []string{string(kindFailing)}, false, failingFor(short), failingFor(short)},
	}
}

// brokerStall is how long NATS stands still while its connections live, as behind a cluster's leader that is lost.
const brokerStall = 10 * time.Second

// failingFor is how long the SMSC answers 0x08 to everything.
func failingFor(short bool) time.Duration {
	if short {
		return 10 * time.Second
	}
	return 30 * time.Second
}

// draw makes the schedule of a seed. One thing suffers one fault at a time; different things may suffer at once. The
// last faults end with the length.
func draw(seed uint64, length time.Duration, short bool) []fault {
	rnd := rand.New(rand.NewPCG(seed, 0))
	gap := 10 * time.Second // so that messages flow in between
	cards := deck(short)
	if short {
		gap = length / time.Duration(len(cards)+2)
	}
	free := map[string]time.Duration{}
	var plan []fault
	var hand []card
	for at := 2 * time.Second; at < length; at += time.Duration((0.5 + rnd.Float64()) * float64(gap)) {
		if len(hand) == 0 {
			hand = deck(short)
			rnd.Shuffle(len(hand), func(i, j int) { hand[i], hand[j] = hand[j], hand[i] })
		}
		f := hand[0].fault(rnd)
		hand = hand[1:]
		f.at = at
		for _, t := range f.targets {
			f.at = max(f.at, free[t])
		}
		if f.at >= length {
			continue
		}
		f.length = min(f.length, length-f.at)
		for _, t := range f.targets {
			free[t] = f.at + f.length + time.Second
		}
		plan = append(plan, f)
	}
	slices.SortStableFunc(plan, func(a, b fault) int { return int(a.at - b.at) })
	return plan
}

// fault draws what a card leaves open.
func (c card) fault(rnd *rand.Rand) fault {
	f := fault{kind: c.kind, targets: c.targets, length: c.least + time.Duration(rnd.Float64()*float64(c.most-c.least))}
	if !c.all {
		f.targets = []string{c.targets[rnd.IntN(len(c.targets))]}
	}
	switch c.kind {
	case kindStall:
		f.how = []string{stallBoth, stallThere, stallBack}[rnd.IntN(3)]
	case kindCut:
		f.how = []string{cutSilent, cutRefused}[rnd.IntN(2)]
	default:
	}
	return f
}
