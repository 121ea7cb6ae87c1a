package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/urfave/cli/v2"

	"sluice/queue"
)

// whichFlags name a message where an argument would not be clear.
func whichFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "id", Usage: "the message with this delivery `ID`, also where it is all digits"},
		&cli.Uint64Flag{Name: "seq", Usage: "the message with this stream `SEQUENCE`"},
	}
}

// which is the message that the argument or the flags name. An argument of digits may be either.
type which struct {
	id  string
	seq uint64
}

// named reads which message is meant; ok is false when none is named.
func named(c *cli.Context) (w which, ok bool, err error) {
	w = which{id: c.String("id"), seq: c.Uint64("seq")}
	arg := c.Args().First()
	switch given := (w.id != "") || (w.seq != 0); {
	case c.IsSet("id") && c.IsSet("seq"), given && arg != "":
		return w, false, cli.Exit("name one message: by an argument, --id or --seq", 2)
	case given:
		return w, true, nil
	case arg == "":
		return w, false, nil
	}
	w.id = arg
	if seq, err := strconv.ParseUint(arg, 10, 64); err == nil {
		w.seq = seq
	}
	return w, true, nil
}

// needMessage is named for a command that is about one message.
func needMessage(c *cli.Context) (which, error) {
	w, ok, err := named(c)
	if err == nil && !ok {
		err = cli.Exit(fmt.Sprintf("%s needs a message: its delivery id or its sequence", c.Command.Name), 2)
	}
	return w, err
}

func (w which) String() string {
	if w.id != "" {
		return fmt.Sprintf("%q", w.id)
	}
	return strconv.FormatUint(w.seq, 10)
}

// trails finds the messages that are meant, in the order of their sequences.
func (w which) trails(c *cli.Context, client *queue.Client, since time.Time) ([]queue.Trail, error) {
	var found []queue.Trail
	var err error
	if w.id != "" {
		if found, err = client.Trails(c.Context, w.id, since); err != nil {
			return nil, explain(err)
		}
	}
	if w.seq == 0 || slices.ContainsFunc(found, func(t queue.Trail) bool { return t.Seq == w.seq }) {
		return found, nil
	}
	id, published, err := client.Identify(c.Context, w.seq)
	if errors.Is(err, queue.ErrUnknownMessage) {
		return found, nil
	}
	if err != nil {
		return nil, explain(err)
	}
	same, err := client.Trails(c.Context, id, published)
	if err != nil {
		return nil, explain(err)
	}
	for _, t := range same {
		if t.Seq == w.seq {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, func(a, b queue.Trail) int { return int(int64(a.Seq) - int64(b.Seq)) })
	return found, nil
}

// ambiguous lists the messages when one has what was given for its sequence and another for its delivery id, else nil.
func (w which) ambiguous(trails []queue.Trail) []string {
	bySeq := slices.ContainsFunc(trails, func(t queue.Trail) bool { return t.Seq == w.seq })
	byID := slices.ContainsFunc(trails, func(t queue.Trail) bool { return t.Seq != w.seq && t.ID == w.id })
	if !bySeq || !byID {
		return nil
	}
	list := make([]string, 0, len(trails))
	for i := range trails {
		list = append(list, fmt.Sprintf("%d (id %s, %s)", trails[i].Seq, dash(trails[i].ID), trails[i].Place))
	}
	return list
}

// severalMeant reports that a delivery id is not enough to say which message is meant.
func severalMeant(w which, what string, list []string) error {
	return cli.Exit(fmt.Sprintf("%d %s are meant by %s: choose one with --seq: %s", len(list), what, w, strings.Join(list, "; ")), 2)
}

// explain says what an error means to whoever has started no gateway yet.
func explain(err error) error {
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, queue.ErrNoStreams) {
		return fmt.Errorf("%w: has a gateway been started on this NATS server, with this --prefix?", err)
	}
	return err
}

// laneOf writes route and class.
func laneOf(route, class string) string { return dash(route) + "/" + dash(class) }

// in is a time to come, to the second.
func in(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	if left := time.Until(t); left > 0 {
		return "in " + left.Round(time.Second).String()
	}
	return ago(t) + " ago"
}
