package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/queue"
)

// duplicateWindow is how far back the outcome of a message that was already in the queue may lie.
const duplicateWindow = 24 * time.Hour

// wait follows the journal until every message has its final event.
func (all allSent) wait(c *cli.Context, client *queue.Client, started time.Time) error {
	since := started.Add(-time.Second)
	if n := all.duplicates(); n > 0 {
		since = started.Add(-duplicateWindow)
		if _, err := fmt.Fprintf(c.App.ErrWriter, "%d of %d were published before: what follows is the outcome of then\n", n, len(all)); err != nil {
			return err
		}
	}
	filter := queue.EventFilter{Route: c.String("route"), Since: since, Follow: true}
	for _, t := range queue.EventTypes() {
		if t.Final() {
			filter.Types = append(filter.Types, t)
		}
	}
	o := outcomesOf(all)
	bar := progress(c, "settled", len(o.pending))
	ctx, cancel := context.WithCancel(c.Context)
	defer cancel()
	err := o.follow(client.Events(ctx, filter), func(e *queue.Event) error {
		_ = bar.Add(1) // a bar that cannot be drawn is no reason to stop
		if len(all) == 1 || c.String("output") == "json" {
			return printFinal(c, e)
		}
		return nil
	})
	_ = bar.Finish()
	if len(all) > 1 {
		if err := o.print(c); err != nil {
			return err
		}
	}
	return o.verdict(c.Context, err)
}

// outcomes is what has become of messages.
type outcomes struct {
	messages int
	pending  map[uint64]bool // by sequence, those without a final event
	finals   map[queue.EventType]int
}

func outcomesOf(all allSent) *outcomes {
	o := &outcomes{pending: make(map[uint64]bool, len(all)), finals: make(map[queue.EventType]int)}
	for _, s := range all {
		o.pending[s.Seq] = true
	}
	o.messages = len(o.pending)
	return o
}

// follow reads events until nothing is pending, and calls each with the final one of each message.
func (o *outcomes) follow(events iter.Seq2[queue.Event, error], each func(*queue.Event) error) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		if !e.Type.Final() || !o.pending[e.Seq] {
			continue
		}
		delete(o.pending, e.Seq)
		o.finals[e.Type]++
		if err := each(&e); err != nil {
			return err
		}
		if len(o.pending) == 0 {
			return nil
		}
	}
	return nil
}

func (o *outcomes) print(c *cli.Context) error {
	for _, t := range queue.EventTypes() {
		if n := o.finals[t]; n > 0 {
			if _, err := fmt.Fprintf(c.App.ErrWriter, "%s: %d\n", t, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// verdict is nil when every message was submitted. The journal may end, with err or without, while messages are pending:
// then nothing is known of them. When ctx was interrupted the exit code is 130.
func (o *outcomes) verdict(ctx context.Context, err error) error {
	lost := o.messages - len(o.pending) - o.finals[queue.EventSubmitted]
	if len(o.pending) == 0 && err == nil {
		if lost > 0 {
			return fmt.Errorf("%d of %d messages were not submitted", lost, o.messages)
		}
		return nil
	}
	open := fmt.Sprintf("%d of %d messages still have no outcome", len(o.pending), o.messages)
	if lost > 0 {
		open += fmt.Sprintf(", and %d were not submitted", lost)
	}
	if interrupted := ctx.Err(); interrupted != nil {
		return cli.Exit("interrupted: "+open+"; they stay in the queue, and `sluice events` shows what becomes of them", 130)
	}
	if err == nil {
		err = errors.New("the journal ended too early")
	}
	return fmt.Errorf("%s: %w", open, err)
}

func printFinal(c *cli.Context, e *queue.Event) error {
	print := eventLine
	if c.String("output") == "json" {
		print = eventJSON
	}
	line, err := print(e)
	if err != nil {
		return err
	}
	return printLine(c.App.Writer, line)
}
