package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/nats-io/nats.go/micro"
)

// Canceller is a gateway that can be told of a cancelled message.
type Canceller interface {
	Instance() string
	// Cancel notes that a message is marked as cancelled, so that it is not submitted any more, and reports whether it
	// is held here: its submit may be under way.
	Cancel(seq uint64) (held bool)
}

// cancelAnswer is what one instance answers.
type cancelAnswer struct {
	Instance string `json:"instance"`
	Held     bool   `json:"held"`
}

// Cancel tells every running gateway that a message is marked as cancelled, and reports whether one of them holds it, or
// may hold it because it is alive and does not answer. Where no gateway runs, nobody does.
func Cancel(ctx context.Context, p Peer, seq uint64, alive []string) (held bool, err error) {
	answers, err := askWith(ctx, p.Conn(), ServiceName(p.Prefix())+"."+everyone+".cancel", strconv.AppendUint(nil, seq, 10))
	if err != nil {
		return false, err
	}
	var answered []string
	for _, a := range answers {
		if fault := a.Header.Get(micro.ErrorHeader); fault != "" {
			return false, fmt.Errorf("an instance could not answer: %s", fault)
		}
		var c cancelAnswer
		if err := json.Unmarshal(a.Data, &c); err != nil {
			return false, fmt.Errorf("an instance's answer cannot be read (another version?): %w", err)
		}
		answered = append(answered, c.Instance)
		held = held || c.Held
	}
	silent := slices.ContainsFunc(alive, func(name string) bool { return !slices.Contains(answered, name) })
	return held || silent, nil
}

// cancelHandler answers for one instance.
func cancelHandler(c Canceller) micro.Handler {
	return micro.HandlerFunc(func(req micro.Request) {
		seq, err := strconv.ParseUint(string(req.Data()), 10, 64)
		if err != nil {
			_ = req.Error("400", "want the sequence of a message", nil) // a caller that is gone needs no answer
			return
		}
		data, err := json.Marshal(cancelAnswer{c.Instance(), c.Cancel(seq)})
		if err != nil {
			_ = req.Error("500", "the answer could not be written", nil)
			return
		}
		_ = req.Respond(data)
	})
}
