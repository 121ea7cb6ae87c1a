package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// The waits for answers of an unknown number of instances: to the first, and from one to the next.
const (
	firstAnswer = time.Second
	nextAnswer  = 150 * time.Millisecond
)

// ErrNoInstance reports that no gateway answered.
var ErrNoInstance = errors.New("no gateway answered: is `sluice run` connected to this NATS server, with the same streams.prefix as --prefix?")

// Gathered says how many of the instances that are there answered.
type Gathered struct{ Answered, Expected int }

// Binds asks every instance for its binds. They are sorted by account, instance and number.
func Binds(ctx context.Context, p Peer) ([]Bind, Gathered, error) {
	all, g, err := ask[Bind](ctx, p, "binds")
	slices.SortFunc(all, func(a, b Bind) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Number, b.Number))
	})
	return all, g, err
}

// ask collects what every instance answers to a verb.
func ask[T any](ctx context.Context, p Peer, verb string) ([]T, Gathered, error) {
	name := ServiceName(p.Prefix())
	pings, err := askWith(ctx, p.Conn(), "$SRV.PING."+name, nil)
	if err != nil {
		return nil, Gathered{}, err
	}
	answers, err := askWith(ctx, p.Conn(), name+"."+everyone+"."+verb, nil)
	if err != nil {
		return nil, Gathered{}, err
	}
	g := Gathered{Answered: len(answers), Expected: max(len(pings), len(answers))}
	if g.Expected == 0 {
		return nil, g, ErrNoInstance
	}
	var all []T
	for _, a := range answers {
		if fault := a.Header.Get(micro.ErrorHeader); fault != "" {
			return nil, g, fmt.Errorf("an instance could not answer: %s", fault)
		}
		var list []T
		if err := json.Unmarshal(a.Data, &list); err != nil {
			return nil, g, fmt.Errorf("an instance's answer cannot be read (another version?): %w", err)
		}
		all = append(all, list...)
	}
	return all, g, nil
}

// askWith publishes a request and collects the answers until they stop coming.
func askWith(ctx context.Context, nc *nats.Conn, subject string, body []byte) ([]*nats.Msg, error) {
	inbox := nc.NewRespInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("asking the gateways: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := nc.PublishRequest(subject, inbox, body); err != nil {
		return nil, fmt.Errorf("asking the gateways: %w", err)
	}
	var answers []*nats.Msg
	wait := firstAnswer
	for {
		next, cancel := context.WithTimeout(ctx, wait)
		msg, err := sub.NextMsgWithContext(next)
		cancel()
		switch {
		case errors.Is(err, nats.ErrNoResponders):
			return answers, nil
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			return answers, nil
		case err != nil:
			return nil, fmt.Errorf("asking the gateways: %w", err)
		}
		if len(msg.Data) == 0 && msg.Header.Get("Status") == "503" {
			return answers, nil
		}
		answers = append(answers, msg)
		wait = nextAnswer
	}
}
