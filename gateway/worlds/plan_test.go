package worlds

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"sluice/queue"
	"sluice/testserver"
	"sluice/testserver/limiter"
)

// world is what a seed draws: who lives in it, what is published, and what goes wrong.
type world struct {
	seed      uint64
	instances int
	accounts  []string // one SMSC each; the route prefers the first
	declared  float64  // the accounts' rate.declared, 0 when it is learned
	kind      string   // of the SMSCs
	scenario  testserver.Scenario
	length    time.Duration
	messages  []planned
	faults    []*fault
	orders    []*order // of the operator
	phones    []phoned
}

// planned is one message and when it is published.
type planned struct {
	at      time.Duration
	class   string
	message *queue.Message
	parts   int
	cancel  time.Duration // how long after the stream has it the operator cancels it; 0: never
}

// faultKind is a way to break something.
type faultKind string

const (
	cut       faultKind = "cut"       // the connection ends when the message passes, which is lost
	delay     faultKind = "delay"     // the message and all behind it wait
	drop      faultKind = "drop"      // the message alone is lost
	kill      faultKind = "kill"      // the instance is fenced at the message, and a new one starts
	stop      faultKind = "stop"      // the instance stops in order, and a new one starts
	stall     faultKind = "stall"     // nothing passes the link for a while, both ways
	restart   faultKind = "restart"   // the NATS server stops and starts
	pauseNATS faultKind = "pause"     // nothing passes any NATS link for a while; the connections live
	forget    faultKind = "forget"    // NATS loses events that it has just confirmed, and stands still until it is started again
	full      faultKind = "full"      // the store of NATS has no room, and every write is refused
	rollback  faultKind = "rollback"  // NATS is started on a copy of its store from some seconds before
	failing   faultKind = "failing"   // the SMSCs answer 0x08 to everything
	throttled faultKind = "throttled" // their ceiling falls to a tenth
	swallow   faultKind = "swallow"   // they accept a third and do not answer
	straggle  faultKind = "straggle"  // the connection ends at the message for its writer, and the message arrives later
	tardily   faultKind = "tardily"   // the SMSCs answer a few as late as a resend
	late      faultKind = "late"      // they answer a third after the response timeout
	hangUp    faultKind = "hang up"   // they end the connection now and then, before or after an answer
)

// The links of an instance.
const (
	natsLink = "nats"
	smscLink = "smsc"
)

// fault is one thing that goes wrong. The kinds of the first group wait for a message of op on the link of the
// instance, the nth after at.
type fault struct {
	kind     faultKind
	at       time.Duration
	length   time.Duration
	instance int
	link, op string
	nth      int

	hit    string // what it struck, and when
	struck time.Time
	ended  time.Time
}

func (f *fault) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "at %v %s", f.at.Round(time.Millisecond), f.kind)
	if f.instance >= 0 {
		fmt.Fprintf(&b, " of gw-%d", f.instance)
	}
	if f.op != "" {
		fmt.Fprintf(&b, " on its %s link at %s number %d", f.link, f.op, f.nth)
	}
	if f.length > 0 {
		fmt.Fprintf(&b, " for %v", f.length.Round(time.Millisecond))
	}
	if f.hit != "" {
		fmt.Fprintf(&b, ": hit %s", f.hit)
	}
	return b.String()
}

// The protocol messages that a fault may wait for.
const (
	opPull       = "pull"
	opHandOut    = "hand-out"
	opEvent      = "event"
	opOutcome    = "final event"
	opRecord     = "record"
	opFinal      = "final claim"
	opAck        = "ack"
	opNak        = "nak"
	opConfirm    = "confirmation"
	opSubmit     = "submit_sm"
	opSubmitResp = "submit_sm_resp"
	opBindResp   = "bind_resp"
	opDeliver    = "deliver_sm"
	opReceiptAck = "deliver_sm_resp"
)

var (
	natsOps = []string{opPull, opHandOut, opEvent, opOutcome, opRecord, opAck, opNak, opConfirm, opFinal}
	smscOps = []string{opSubmit, opSubmitResp, opBindResp, opDeliver, opReceiptAck}
)

const life = 10 * time.Minute // of a message that names none

// draw makes the world of a seed. Each part has a source of random numbers of its own, so that leaving out a message
// or a fault changes nothing else.
func draw(seed uint64) *world {
	rnd := rand.New(rand.NewPCG(seed, 0))
	w := &world{seed: seed, instances: 1 + rnd.IntN(3), accounts: []string{"acme"}, length: time.Duration(6+rnd.IntN(10)) * time.Minute}
	if rnd.IntN(3) == 0 {
		w.accounts = append(w.accounts, "backup")
	}
	w.drawSMSC(rand.New(rand.NewPCG(seed, 1)))
	w.drawMessages(rand.New(rand.NewPCG(seed, 2)))
	w.drawFaults(rand.New(rand.NewPCG(seed, 3)))
	w.drawOperator(rand.New(rand.NewPCG(seed, 4)))
	w.drawForgetting(rand.New(rand.NewPCG(seed, 5)))
	w.drawKind(rand.New(rand.NewPCG(seed, 6)))
	slices.SortStableFunc(w.faults, func(a, b *fault) int { return int(a.at - b.at) })
	w.drawPhones(rand.New(rand.NewPCG(seed, 7)))
	return w
}

func (w *world) drawSMSC(rnd *rand.Rand) {
	rate := []float64{5, 10, 20, 50}[rnd.IntN(4)]
	limit := testserver.Limit{Kind: testserver.TokenBucket, Rate: testserver.Steps(limiter.Step{Rate: rate}), Burst: max(1, rate/10)}
	switch rnd.IntN(4) {
	case 0:
		w.kind = fmt.Sprintf("bucket of %v/s", rate)
	case 1:
		w.kind, w.declared = fmt.Sprintf("bucket of %v/s, declared", 2*rate), rate
		limit.Rate = testserver.Steps(limiter.Step{Rate: 2 * rate})
	case 2:
		w.kind = "10 unanswered at most"
		limit = testserver.Limit{Kind: testserver.Outstanding, Size: 10}
	case 3:
		w.kind = fmt.Sprintf("queue of 20, %v/s", rate)
		limit = testserver.Limit{Kind: testserver.Queue, Size: 20, Rate: limit.Rate}
	}
	far := time.Duration(rnd.IntN(2)) * 200 * time.Millisecond
	w.scenario = testserver.Scenario{
		Seed: w.seed + 1, Limits: []testserver.Limit{limit}, Latency: testserver.Between(far+5*time.Millisecond, far+60*time.Millisecond),
		AnyOrder: rnd.IntN(2) == 0,
		Receipts: testserver.Receipts{
			Receipt: testserver.Receipt{Delay: testserver.Between(time.Second, 20*time.Second)}, Redeliver: 5 * time.Second,
		},
	}
}

// Destinations that are always answered alike.
const (
	good     = "1555"
	terminal = "1666" // 0x0B
	broken   = "1777" // 0x08, while others pass
)

func (w *world) drawMessages(rnd *rand.Rand) {
	n := 200 + rnd.IntN(300)
	for i := range n {
		prefix, m := good, &queue.Message{ID: fmt.Sprintf("m%04d", i), From: "1000", Text: fmt.Sprintf("message %d", i)}
		p := planned{at: time.Duration(rnd.Float64() * float64(w.length)), class: []string{"otp", "normal", "bulk"}[rnd.IntN(3)], message: m, parts: 1}
		switch k := rnd.IntN(100); {
		case k < 2:
			prefix = terminal
		case k < 4:
			prefix = broken
		case k < 14:
			m.ExpiresIn = time.Duration(1+rnd.IntN(60)) * time.Second
		case k < 24:
			p.parts = 2
			m.Text += strings.Repeat(".", 200)
		}
		m.Receipt = rnd.IntN(3) == 0
		m.To = fmt.Sprintf("+%s%07d", prefix, i)
		w.messages = append(w.messages, p)
	}
	slices.SortStableFunc(w.messages, func(a, b planned) int { return int(a.at - b.at) })
}

// drawFaults spreads faults over the first four fifths of the world.
func (w *world) drawFaults(rnd *rand.Rand) {
	n := 3 + rnd.IntN(10)
	for range n {
		f := &fault{at: time.Duration((0.02 + 0.78*rnd.Float64()) * float64(w.length)), instance: -1}
		f.length = time.Duration((0.5 + 20*rnd.Float64()) * float64(time.Second))
		switch k := rnd.IntN(20); {
		case k < 10:
			f.kind = []faultKind{cut, delay, drop, kill, kill}[rnd.IntN(5)]
			f.instance, f.link, f.nth = rnd.IntN(w.instances), natsLink, 1+rnd.IntN(5)
			ops := natsOps
			if rnd.IntN(3) == 0 {
				f.link, ops = smscLink, smscOps
			}
			f.op = ops[rnd.IntN(len(ops))]
			if f.kind == drop && (f.op == opDeliver || f.op == opReceiptAck) {
				f.kind = cut // no SMSC sends again what a connection that lives has taken
			}
		case k < 11:
			f.kind, f.instance, f.link = stall, rnd.IntN(w.instances), []string{natsLink, smscLink}[rnd.IntN(2)]
		case k < 12:
			f.kind, f.instance = stop, rnd.IntN(w.instances)
		case k < 13:
			f.kind = []faultKind{restart, full}[rnd.IntN(2)]
		case k < 14:
			f.kind = restart
		case k < 15:
			f.kind = pauseNATS
		default:
			f.kind = []faultKind{failing, throttled, swallow, late, hangUp}[k-15]
			f.length = time.Duration(5+rnd.IntN(40)) * time.Second
		}
		w.faults = append(w.faults, f)
	}
}

// behaviour is the SMSCs' scenario while some faults of theirs are at work.
func (w *world) behaviour(active []*fault) testserver.Scenario {
	sc := w.scenario
	sc.Errors = []testserver.ErrorRule{
		{Match: testserver.Match{Prefix: terminal}, Status: 0x0B}, {Match: testserver.Match{Prefix: broken}, Status: 0x08},
	}
	for _, f := range active {
		switch f.kind {
		case failing:
			sc.Errors = append([]testserver.ErrorRule{{Status: 0x08}}, sc.Errors...)
		case throttled:
			sc.Limits = append(slices.Clone(sc.Limits), testserver.Limit{
				Kind: testserver.TokenBucket, Rate: testserver.Steps(limiter.Step{Rate: 1}), Burst: 1,
			})
		case swallow:
			sc.Faults = append(slices.Clone(sc.Faults), testserver.Fault{Kind: testserver.FaultSwallow, Match: testserver.Match{Share: 0.33}})
		case late:
			sc.Faults = append(slices.Clone(sc.Faults), testserver.Fault{
				Kind: testserver.FaultDelay, By: testserver.Between(20*time.Second, 50*time.Second), Match: testserver.Match{Share: 0.33},
			})
		case tardily:
			sc.Faults = append(slices.Clone(sc.Faults), testserver.Fault{
				Kind: testserver.FaultDelay, By: testserver.Between(20*time.Second, 110*time.Second), Match: testserver.Match{Share: 0.17},
			})
		case hangUp:
			sc.Faults = append(slices.Clone(sc.Faults),
				testserver.Fault{Kind: testserver.FaultDisconnect, When: testserver.Before, Match: testserver.Match{Every: 17}},
				testserver.Fault{Kind: testserver.FaultDisconnect, When: testserver.After, Match: testserver.Match{Every: 13}})
		case cut, delay, drop, kill, stop, stall, straggle, restart, pauseNATS, forget, full, rollback:
		}
	}
	return sc
}
