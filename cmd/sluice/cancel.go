package main

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/gateway/admin"
	"sluice/queue"
)

// Exit codes of cancel, beside 1 for an error and 2 for a call that cannot be understood.
const (
	exitInFlight = 3
	exitTooLate  = 4
	exitNotFound = 5
)

func cancelCommand() *cli.Command {
	return &cli.Command{
		Name:  "cancel",
		Usage: "keep a message from being sent, if it is not too late",
		UsageText: "sluice cancel order-8812-ship\nsluice cancel 4711\n\n" +
			"The exit code is 0 when the message is cancelled, 3 when it is in flight (it is not sent again), 4 when it has\n" +
			"another outcome already, 5 when it is not known.",
		ArgsUsage:    "[MESSAGE]",
		OnUsageError: usageError,
		Flags:        natsFlags(append(whichFlags(), outputFlag())...),
		Action:       cancelMessage,
	}
}

func cancelMessage(c *cli.Context) error {
	w, err := needMessage(c)
	if err != nil {
		return err
	}
	client, err := connect(c)
	if err != nil {
		return err
	}
	defer client.Close()
	seq, id, err := toCancel(c, client, w)
	if err != nil {
		return err
	}
	journal, err := client.OpenJournal(queue.JournalConfig{})
	if err != nil {
		return err
	}
	defer closeJournal(c, journal)
	ctx, stop := context.WithTimeout(c.Context, stepPatience)
	defer stop()
	r, err := client.Cancel(ctx, journal, seq, id, func(ctx context.Context) (bool, error) {
		instances, err := client.Instances(ctx)
		if err != nil {
			return false, err
		}
		var alive []string
		for i := range instances {
			alive = append(alive, instances[i].Name)
		}
		return admin.Cancel(ctx, client, seq, alive)
	})
	if err != nil {
		return explain(err)
	}
	return reportCancel(c, &r)
}

// toCancel finds the one message that is meant: of several with the same delivery id, the one that has no outcome yet.
func toCancel(c *cli.Context, client *queue.Client, w which) (seq uint64, id string, err error) {
	trails, err := w.trails(c, client, time.Time{})
	if err != nil {
		return 0, "", err
	}
	if other := w.ambiguous(trails); other != nil {
		return 0, "", severalMeant(w, "messages", other)
	}
	var open []string
	for i := range trails {
		t := &trails[i]
		switch t.Place {
		case queue.PlaceQueued, queue.PlaceInFlight, queue.PlaceWaiting:
			seq, id = t.Seq, t.ID
			open = append(open, fmt.Sprintf("%d (%s, tenant %s, %s)", t.Seq, laneOf(t.Route, t.Class), dash(t.Tenant), t.Place))
		case queue.PlaceRemoved:
			return 0, "", cli.Exit(fmt.Sprintf("message %d (%s) was %s", t.Seq, dash(t.ID), removedByOthers), exitNotFound)
		case queue.PlaceDeferred, queue.PlaceDone:
		}
	}
	switch {
	case len(open) > 1:
		return 0, "", severalMeant(w, "messages that can be cancelled", open)
	case len(open) == 0 && len(trails) > 0:
		t := &trails[len(trails)-1]
		return t.Seq, t.ID, nil
	case len(open) == 0:
		return w.seq, w.id, nil
	}
	return seq, id, nil
}

func reportCancel(c *cli.Context, r *queue.Cancelling) error {
	if c.String("output") == "json" {
		if err := printJSON(c.App.Writer, r); err != nil {
			return err
		}
	} else if _, err := fmt.Fprintln(c.App.Writer, r.Result); err != nil {
		return err
	}
	what := fmt.Sprintf("message %d (%s)", r.Seq, dash(r.ID))
	if r.Seq == 0 { // nothing has that delivery id
		what = fmt.Sprintf("message %q", r.ID)
	}
	switch r.Result {
	case queue.CancelInFlight:
		return cli.Exit(what+" is in flight: should it come back, it ends cancelled instead of being sent again", exitInFlight)
	case queue.CancelTooLate:
		return cli.Exit(fmt.Sprintf("%s has ended %s at %s", what, r.Final.Type, stamp(r.Final.At)), exitTooLate)
	case queue.CancelNotFound:
		return cli.Exit(what+" is not in the queue, and the journal does not know it", exitNotFound)
	case queue.CancelDone:
	}
	return nil
}
