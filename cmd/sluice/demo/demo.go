// Package demo sends the same messages to a fake SMSC twice, first with a naive sender and then with Sluice, and
// counts what becomes of them. The SMSC's ceiling falls and rises on the way. All of it runs in one process over real
// parts: an embedded NATS server with JetStream, and SMPP over TCP on the loopback interface.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// defaultMessages take Sluice about 105 s. The last rise of the ceiling takes it up to 25 s to find, in which much of
// the ceiling goes unused: with fewer messages chance would have a large part in the goodput.
const defaultMessages = 10_000

// Options say how the demo is shown. The zero value shows nothing and gives the result alone.
type Options struct {
	// Out gets the progress: a live chart on a terminal, else a line every 2 s. Default: nothing is shown.
	Out io.Writer
	// Terminal says that Out understands ANSI escape sequences.
	Terminal bool
	// JSON asks for lines even on a terminal, since the result will be read by a program.
	JSON bool
	// Width of the terminal in columns; 80 when 0. Below 40 there are lines instead of a chart.
	Width int
	// Seed starts every random choice; 1 when 0.
	Seed uint64
	// Messages for each sender; 10,000 when 0.
	Messages int
	// Dir is where the temporary folder of the NATS server is made; the system's default when empty. The folder is
	// removed at the end.
	Dir string

	plan *plan // fullPlan when nil
}

// withDefaults fills in what was left out.
func (o Options) withDefaults() Options {
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.Width == 0 {
		o.Width = 80
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.Messages == 0 {
		o.Messages = defaultMessages
	}
	if o.plan == nil {
		full := fullPlan()
		o.plan = &full
	}
	return o
}

// Run shows the demo. It writes the progress to o.Out and leaves the result to the caller. It takes about 2 minutes
// with the default number of messages; when ctx ends, everything is stopped and removed, and the error says so.
func Run(ctx context.Context, o Options) (r Result, err error) {
	o = o.withDefaults()
	if o.Messages < oneIn {
		return Result{}, fmt.Errorf("messages %d: at least %d are needed for 2 %% bad recipients", o.Messages, oneIn)
	}
	st, err := setStage(ctx, o)
	if err != nil {
		return Result{}, broken(ctx, "start", err)
	}
	defer func() {
		if closed := st.close(); err == nil && closed != nil {
			err = fmt.Errorf("demo: %w", closed)
		}
	}()
	show := newView(o)
	defer func() { err = errors.Join(err, show.close()) }()

	show.say(introduction(st.traffic, *o.plan)...)
	r = Result{Offered: o.Messages, Bad: st.traffic.bad}
	show.say("", "1/2  Naive sender: ten submits in flight, no pacing; a throttled message is written down as failed.")
	if r.Naive, err = st.runNaive(ctx, show); err != nil {
		return Result{}, broken(ctx, "naive sender", err)
	}
	show.say("", "2/2  Sluice: the same messages; pace and window follow what the SMSC answers.")
	if r.Sluice, err = st.runSluice(ctx, show); err != nil {
		return Result{}, broken(ctx, "sluice", err)
	}
	show.say("")
	return r, nil
}

// broken is the error of a demo that did not reach its end, in particular because ctx has ended.
func broken(ctx context.Context, at string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("demo: stopped early: %w", ctx.Err())
	}
	return fmt.Errorf("demo: %s: %w", at, err)
}

// introduction says what is about to happen.
func introduction(t traffic, p plan) []string {
	var ceiling []string
	for _, s := range p.ceiling {
		ceiling = append(ceiling, fmt.Sprintf("%.0f/s from %.0f s on", s.Rate, s.At.Seconds()))
	}
	return []string{
		fmt.Sprintf("%s messages, %s of them to recipients that do not exist, go to an SMSC twice.",
			thousands(len(t.recipients)), thousands(t.bad)),
		fmt.Sprintf("It takes %s, %d at once; it answers after %d to %d ms.", strings.Join(ceiling, ", "), bucketDepth,
			fastestAnswer/time.Millisecond, slowestAnswer/time.Millisecond),
	}
}
