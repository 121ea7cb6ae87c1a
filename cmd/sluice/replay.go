package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/queue"
)

// stepPatience bounds what is done about one message.
const stepPatience = 30 * time.Second

// treated is what was done about one deferred message.
type treated struct {
	queue.Replayed
	Route  string `json:"route"`
	Class  string `json:"class"`
	Reason string `json:"reason"`
	// Result is replayed, dropped or refused, or one of the first two with "would be ".
	Result string `json:"result"`
	Error  string `json:"error,omitempty"`
}

// treatment is the way in which the commands work on deferred messages, one after the other. One that is refused does
// not stop the others.
type treatment struct {
	c        *cli.Context
	done     []treated
	failures int
}

// treat calls step for every message that is meant.
func treat(c *cli.Context, verb string, step func(context.Context, *queue.Client, *queue.Journal, *queue.Deferred) (queue.Replayed, error)) error {
	s, any, err := chooseDeferred(c)
	if err != nil {
		return err
	}
	if !any && !c.Bool("all") {
		return cli.Exit("choose messages: one by its id or sequence, several with --route or --reason, or --all", 2)
	}
	client, err := connect(c)
	if err != nil {
		return err
	}
	defer client.Close()
	if s.which != (which{}) { // an id must not mean several by surprise
		d, err := oneDeferred(c, client, &s)
		if err != nil {
			return err
		}
		s.which = which{seq: d.Seq}
	}
	journal, err := client.OpenJournal(queue.JournalConfig{})
	if err != nil {
		return err
	}
	defer closeJournal(c, journal)
	t := treatment{c: c, done: []treated{}}
	again := make(map[uint64]bool) // what was replayed here and is back already
	more, err := s.each(c, client, func(d *queue.Deferred) error {
		if again[d.Seq] {
			return nil
		}
		ctx, cancel := context.WithTimeout(c.Context, stepPatience)
		defer cancel()
		r, err := step(ctx, client, journal, d)
		again[r.As] = true
		t.note(verb, d, r, err)
		return c.Err()
	})
	return errors.Join(t.print(), sayMore(c, more && err == nil), err, t.verdict())
}

func (t *treatment) note(verb string, d *queue.Deferred, r queue.Replayed, err error) {
	row := treated{Replayed: r, Route: d.Route, Class: d.Class, Reason: d.Reason, Result: verb}
	switch {
	case errors.Is(err, queue.ErrReplayRefused):
		row.Result, row.Error = "refused", err.Error()
	case err != nil:
		row.Result, row.Error = "failed", err.Error()
	case t.c.Bool("dry-run"):
		row.Result = "would be " + verb
	}
	if err != nil {
		t.failures++
	}
	t.done = append(t.done, row)
}

func (t *treatment) print() error {
	if t.c.String("output") == "json" {
		return printJSON(t.c.App.Writer, t.done)
	}
	rows := make([][]string, 0, len(t.done))
	for i := range t.done {
		d := &t.done[i]
		as := "-"
		if d.As != 0 {
			as = strconv.FormatUint(d.As, 10)
		}
		note := d.Error
		if d.Before && note == "" {
			note = "published by an earlier replay that did not come to its end"
		}
		rows = append(rows, []string{
			strconv.FormatUint(d.Seq, 10), dash(d.ID), laneOf(d.Route, d.Class), d.Reason, d.Result, as, yes(d.PossibleDuplicate),
			in(d.Deadline), dash(note),
		})
	}
	return printTable(t.c.App.Writer,
		[]string{"SEQ", "DELIVERY ID", "ROUTE/CLASS", "REASON", "RESULT", "AS", "POSSIBLE DUPLICATE", "DEADLINE", "NOTE"}, rows)
}

func (t *treatment) verdict() error {
	if t.failures > 0 {
		return fmt.Errorf("%d of %d messages stay deferred", t.failures, len(t.done))
	}
	return nil
}

func replayDeferred(c *cli.Context) error {
	o := queue.ReplayOptions{ExpiresIn: duration(c, "expires-in"), Force: c.Bool("force"), DryRun: c.Bool("dry-run")}
	return treat(c, "replayed", func(ctx context.Context, client *queue.Client, j *queue.Journal, d *queue.Deferred) (queue.Replayed, error) {
		return client.Replay(ctx, j, d, o)
	})
}

// closeJournal ends the journal of a command. What it was to store is confirmed already.
func closeJournal(c *cli.Context, j *queue.Journal) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context), connectPatience)
	defer cancel()
	if err := j.Close(ctx); err != nil {
		_ = printLine(c.App.ErrWriter, "sluice: "+err.Error()) // nowhere else to say it
	}
}

func dropDeferred(c *cli.Context) error {
	return treat(c, "dropped", func(ctx context.Context, client *queue.Client, _ *queue.Journal, d *queue.Deferred) (queue.Replayed, error) {
		r := queue.Replayed{Seq: d.Seq, ID: d.ID}
		if c.Bool("dry-run") {
			return r, nil
		}
		return r, client.DropDeferred(ctx, d)
	})
}
