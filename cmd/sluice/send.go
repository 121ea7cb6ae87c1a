package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/nats-io/nuid"
	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"sluice/queue"
)

func sendCommand() *cli.Command {
	return &cli.Command{
		Name:  "send",
		Usage: "publish one message, or a file of messages, and optionally wait for what becomes of them",
		UsageText: "sluice send --route main --class otp --to +15550100 --text \"Your code is 1234\" --wait\n" +
			"sluice send --route main --class bulk --file messages.jsonl --wait",
		OnUsageError: usageError,
		Flags: natsFlags(
			&cli.StringFlag{Name: "route", Value: "main", Usage: "`ROUTE` to publish to"},
			&cli.StringFlag{Name: "class", Value: "normal", Usage: "`CLASS` of the route"},
			&cli.StringFlag{Name: "to", Usage: "recipient `NUMBER`, such as +15550100"},
			&cli.StringFlag{Name: "from", Usage: "sender `ADDRESS`: a number, a short code or a name"},
			&cli.StringFlag{Name: "text", Usage: "`TEXT` of the message"},
			&cli.StringFlag{Name: "id", Usage: "delivery `ID`; one is made up without it"},
			&cli.BoolFlag{Name: "receipt", Usage: "ask the SMSC for a delivery receipt"},
			durationFlag("expires-in", "`DURATION` after which the message must not be sent any more, for example 15m or 7d"),
			&cli.StringFlag{Name: "file", Usage: "`FILE` with one message as JSON a line; - reads standard input"},
			&cli.BoolFlag{Name: "wait", Usage: "wait until each message has its final outcome; the exit code is 1 unless all were submitted"},
			outputFlag(),
		),
		Action: send,
	}
}

func send(c *cli.Context) error {
	messages, err := messagesToSend(c)
	if err != nil {
		return err
	}
	client, err := connect(c)
	if err != nil {
		return err
	}
	defer client.Close()

	started := time.Now()
	sent, err := publish(c, client, messages)
	if err != nil {
		return err
	}
	if err := sent.keptOut(c, client, messages); err != nil {
		return err
	}
	if !c.Bool("wait") {
		return sent.print(c)
	}
	return sent.wait(c, client, started)
}

// messagesToSend reads the messages and checks all of them before any is published.
func messagesToSend(c *cli.Context) ([]*queue.Message, error) {
	path := c.String("file")
	if path == "" {
		m := &queue.Message{
			ID: c.String("id"), From: c.String("from"), To: c.String("to"), Text: c.String("text"), Receipt: c.Bool("receipt"),
			ExpiresIn: duration(c, "expires-in"),
		}
		if err := m.Validate(); err != nil {
			return nil, err
		}
		return []*queue.Message{m}, nil
	}
	for _, flag := range []string{"to", "text", "id", "from", "receipt", "expires-in"} {
		if c.IsSet(flag) {
			return nil, cli.Exit(fmt.Sprintf("--%s and --file: the file holds whole messages, give one of the two", flag), 2)
		}
	}
	in := io.Reader(os.Stdin)
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }() // it was only read
		in = f
	}
	return readMessages(in)
}

const (
	longestLine = 1 << 20
	mostFaults  = 20
)

// readMessages decodes one message a line; the error holds the faults of the first faulty lines.
func readMessages(in io.Reader) ([]*queue.Message, error) {
	var messages []*queue.Message
	var faults []error
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLine)
	n := 1
	for ; len(faults) < mostFaults && lines.Scan(); n++ {
		line := lines.Bytes()
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\uFEFF")) // some editors put it in front of UTF-8
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		m, err := queue.Decode(line)
		if err != nil {
			faults = append(faults, fmt.Errorf("line %d: %w", n, err))
			continue
		}
		messages = append(messages, m)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		faults = append(faults, fmt.Errorf("line %d: longer than %d octets: write one message a line", n, longestLine))
	case err != nil:
		faults = append(faults, fmt.Errorf("line %d: %w", n, err))
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("nothing was published:\n%w", errors.Join(faults...))
	}
	if len(messages) == 0 {
		return nil, errors.New("the file holds no message: write one JSON object a line")
	}
	return messages, nil
}

// sent is what was published.
type sent struct {
	ID        string `json:"id"`
	Seq       uint64 `json:"seq"`
	Duplicate bool   `json:"duplicate,omitempty"`
}

type allSent []sent

// publish stores all messages and waits until the stream has them.
func publish(c *cli.Context, client *queue.Client, messages []*queue.Message) (allSent, error) {
	outgoing := func(yield func(queue.Outgoing) bool) {
		for _, m := range messages {
			if m.ID == "" {
				m.ID = nuid.Next()
			}
			if !yield(queue.Outgoing{Route: c.String("route"), Class: c.String("class"), Message: m}) {
				return
			}
		}
	}
	all := make(allSent, len(messages))
	bar := progress(c, "published", len(messages))
	var faults []error
	err := client.PublishMany(c.Context, outgoing, func(p queue.Published) {
		_ = bar.Add(1) // a bar that cannot be drawn is no reason to stop
		all[p.Index] = sent{ID: messages[p.Index].ID, Seq: p.Seq, Duplicate: p.Duplicate}
		if p.Err != nil && len(faults) < mostFaults {
			faults = append(faults, fmt.Errorf("message %d (id %s): %w", p.Index+1, messages[p.Index].ID, p.Err))
		}
	})
	_ = bar.Finish()
	if err := errors.Join(append(faults, err)...); err != nil {
		return all, fmt.Errorf("%d of %d messages are in the queue: %w", all.stored(), len(all), err)
	}
	return all, nil
}

// keptOut reports messages that were not stored because another message was published under their id before. What has
// left the queue since, or what the user may not read, cannot be compared.
func (all allSent) keptOut(c *cli.Context, client *queue.Client, messages []*queue.Message) error {
	var faults []error
	n := 0
	for i, s := range all {
		if !s.Duplicate {
			continue
		}
		like, err := client.Liken(c.Context, s.Seq, queue.Outgoing{Route: c.String("route"), Class: c.String("class"), Message: messages[i]})
		if err != nil {
			break
		}
		if like != queue.OtherMessage {
			continue
		}
		if n++; len(faults) < mostFaults {
			faults = append(faults, fmt.Errorf("message %d (id %s): message %d has the id and is another one", i+1, s.ID, s.Seq))
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d messages are not in the queue, others were published under their ids before; use ids that nobody guesses: %w",
		n, len(all), errors.Join(faults...))
}

func (all allSent) print(c *cli.Context) error {
	if c.String("output") == "json" {
		return printJSON(c.App.Writer, all)
	}
	if len(all) == 1 {
		_, err := fmt.Fprintf(c.App.Writer, "published %s as sequence %d%s\n", all[0].ID, all[0].Seq, again(all[0].Duplicate))
		return err
	}
	_, err := fmt.Fprintf(c.App.Writer, "published %d messages, %d of them already in the queue\n", len(all), all.duplicates())
	return err
}

func (all allSent) stored() int {
	n := 0
	for _, s := range all {
		if s.Seq > 0 {
			n++
		}
	}
	return n
}

func again(duplicate bool) string {
	if duplicate {
		return " (it was in the queue already)"
	}
	return ""
}

func (all allSent) duplicates() int {
	n := 0
	for _, s := range all {
		if s.Duplicate {
			n++
		}
	}
	return n
}

// progress is a bar on standard error, or nothing where that is no terminal.
func progress(c *cli.Context, what string, n int) *progressbar.ProgressBar {
	w := io.Discard
	if n > 1 && unwrapped(c.App.ErrWriter) == os.Stderr && term.IsTerminal(int(os.Stderr.Fd())) {
		w = os.Stderr
	}
	return progressbar.NewOptions(n, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionClearOnFinish())
}
