package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Mode is what an operator wants an account to do.
type Mode string

// The modes.
const (
	ModeRun   Mode = ""      // submit
	ModePause Mode = "pause" // pull and submit nothing, keep the binds
	ModeDrain Mode = "drain" // finish what is in flight, then unbind
)

// Desired is what an operator wants of an account. It is kept until it is changed, over restarts, and every instance
// follows it. What is not set is as configured.
type Desired struct {
	Mode Mode `json:"mode,omitempty"`
	// Rate, in submits per second over all instances, replaces rate.declared; 0 means that it is learned.
	Rate *float64 `json:"rate,omitempty"`
	// MaxWindow, over all instances, replaces window.max.
	MaxWindow *int `json:"max_window,omitempty"`
	// ForgetAt is when the operator last let everything learned be forgotten.
	ForgetAt time.Time `json:"forget_at,omitzero"`
	// ProbeAt is when the operator last asked for a probe of an account that the SMSC refuses.
	ProbeAt time.Time `json:"probe_at,omitzero"`
	// At is when the operator last changed anything.
	At time.Time `json:"at,omitzero"`

	// Revision counts the changes of the bucket; 0: never changed.
	Revision uint64 `json:"-"`
}

// Hold is a wait that the SMSC has asked of an account.
type Hold struct {
	Until time.Time `json:"hold_until"`
	// For is how long the wait was when it was asked.
	For time.Duration `json:"for"`
	// Reason names the status that asked for it.
	Reason string `json:"reason"`

	// Asked is when the server stored it.
	Asked time.Time `json:"-"`
	// Revision counts the changes of the bucket; 0: there is no hold.
	Revision uint64 `json:"-"`
}

// Left is how much of the wait is to be sat out at now. It is reckoned from the age of what is stored, and is never
// longer than what was asked, however the clock was set meanwhile.
func (h *Hold) Left(now time.Time) time.Duration {
	if h.Revision == 0 {
		return 0
	}
	return min(max(h.For-now.Sub(h.Asked), 0), h.For)
}

// Control is what the bucket says about one account.
type Control struct {
	Desired Desired
	Hold    Hold
}

const (
	controlDesired = "account."
	controlHold    = "hold."
	// controlReread is how often the bucket is read although nothing seems to have changed: after a restart of the server
	// a watcher hears nothing for up to 19 s.
	controlReread = 5 * time.Second
	// controlTries bounds the tries of a change that others are faster with.
	controlTries = 20
)

// ReadControl reads what is wanted of an account.
func (c *Client) ReadControl(ctx context.Context, account string) (Control, error) {
	var control Control
	var err error
	bucket := c.names.Load().control
	if control.Desired.Revision, _, err = c.readKey(ctx, bucket, controlDesired+account, &control.Desired); err != nil {
		return Control{}, fmt.Errorf("control of account %q: %w", account, err)
	}
	if err := control.Desired.Check(); err != nil {
		return Control{}, fmt.Errorf("control of account %q %w: %w; set it anew with `sluice resume`, `rate` or `window`", account, errImpossible, err)
	}
	if control.Hold.Revision, control.Hold.Asked, err = c.readKey(ctx, bucket, controlHold+account, &control.Hold); err != nil {
		return Control{}, fmt.Errorf("hold of account %q: %w", account, err)
	}
	if err := control.Hold.check(); err != nil {
		return Control{}, fmt.Errorf("hold of account %q %w: %w; purge the key %s of %s", account, errImpossible, err, controlHold+account, bucket)
	}
	if control.Hold.Until.IsZero() {
		control.Hold = Hold{}
	}
	return control, nil
}

// errUnreadable is about a value that this version cannot decode.
var errUnreadable = errors.New("cannot be read (written by another version?)")

// errImpossible is about a value that no gateway and no command writes.
var errImpossible = errors.New("is not possible (written by another program?)")

// readKey reads the newest value of a key from the leader of the bucket. The revision is that of the key, and is not 0
// either when there is no value any more: then v stays as it is.
func (c *Client) readKey(ctx context.Context, bucket, key string, v any) (revision uint64, at time.Time, err error) {
	m, err := c.readLeader(ctx, bucketStream(bucket), readRequest{LastFor: bucketSubject(bucket, key)})
	switch {
	case errors.Is(err, errNoMessage):
		return 0, time.Time{}, nil
	case err != nil:
		return 0, time.Time{}, err
	case m.gone():
		return m.Seq, time.Time{}, nil
	}
	if err := json.Unmarshal(m.Data, v); err != nil {
		return m.Seq, m.Time, fmt.Errorf("key %s of %s %w: %w", key, bucket, errUnreadable, err)
	}
	return m.Seq, m.Time, nil
}

// gone reports whether the message marks the end of a key.
func (m *storedMessage) gone() bool {
	return m.Header.Get(headerOperation) != "" || m.Header.Get(headerMarker) != ""
}

// ChangeDesired changes what is wanted of an account, and returns what it has become. The change is repeated when
// another was faster.
func (c *Client) ChangeDesired(ctx context.Context, account string, change func(*Desired)) (Desired, error) {
	bucket, key := c.names.Load().control, controlDesired+account
	for range controlTries {
		var d Desired
		revision, _, err := c.readKey(ctx, bucket, key, &d)
		if err != nil {
			return d, fmt.Errorf("control of account %q: %w", account, err)
		}
		change(&d)
		if err := d.Check(); err != nil {
			return d, fmt.Errorf("control of account %q: %w", account, err)
		}
		d.At = time.Now().UTC()
		data, err := json.Marshal(d)
		if err != nil {
			return d, fmt.Errorf("control of account %q: %w", account, err)
		}
		d.Revision, err = c.replace(ctx, &nats.Msg{Subject: bucketSubject(bucket, key), Data: data}, revision)
		if errors.Is(err, errMovedOn) {
			continue
		}
		if err != nil {
			return d, fmt.Errorf("control of account %q: %w", account, err)
		}
		return d, nil
	}
	return Desired{}, fmt.Errorf("control of account %q: %w", account, errMovedOn)
}

// ExtendHold stores a wait that the SMSC asked of an account, unless a longer one is stored. It goes by itself when it
// is over.
func (c *Client) ExtendHold(ctx context.Context, account string, h Hold) error {
	bucket, key := c.names.Load().control, controlHold+account
	data, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("hold of account %q: %w", account, err)
	}
	for range controlTries {
		var present Hold
		revision, _, err := c.readKey(ctx, bucket, key, &present)
		if err != nil {
			return fmt.Errorf("hold of account %q: %w", account, err)
		}
		left := time.Until(h.Until)
		if !h.Until.After(present.Until) || left <= 0 {
			return nil
		}
		_, err = c.replace(ctx, &nats.Msg{
			Subject: bucketSubject(bucket, key), Data: data,
			Header: nats.Header{headerTTL: {ttlOf(left + time.Second)}},
		}, revision)
		if errors.Is(err, errMovedOn) {
			continue
		}
		if err != nil {
			return fmt.Errorf("hold of account %q: %w", account, err)
		}
		return nil
	}
	return fmt.Errorf("hold of account %q: %w", account, errMovedOn)
}

// FollowControl calls read once, whenever the control of an account may have changed, and every 5 s, until ctx ends.
func (c *Client) FollowControl(ctx context.Context, read func(context.Context)) {
	news := make(chan struct{}, 1)
	changed := func() {
		select {
		case news <- struct{}{}:
		default:
		}
	}
	defer c.onConnection(func(connected bool) {
		if connected {
			changed()
		}
	})()
	if watcher, err := c.watchControl(ctx); err != nil {
		c.logger.Warn("changes of the control come with a delay: it cannot be watched", "error", err, "delay", controlReread)
	} else {
		defer func() { _ = watcher.Stop() }() // the connection may be gone
		go func() {
			for range watcher.Updates() { // closed by Stop
				changed()
			}
		}()
	}
	tick := time.NewTicker(controlReread)
	defer tick.Stop()
	for {
		read(ctx)
		select {
		case <-news:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (c *Client) watchControl(ctx context.Context) (jetstream.KeyWatcher, error) {
	kv, err := c.js.KeyValue(ctx, c.names.Load().control)
	if err != nil {
		return nil, err
	}
	return kv.WatchFiltered(ctx, []string{controlDesired + "*", controlHold + "*"}, jetstream.UpdatesOnly())
}

// String says what the operator wants, for a log.
func (d *Desired) String() string {
	s := "mode " + string(d.Mode)
	if d.Mode == ModeRun {
		s = "mode run"
	}
	if d.Rate != nil {
		s += ", rate " + strconv.FormatFloat(*d.Rate, 'g', -1, 64)
	}
	if d.MaxWindow != nil {
		s += ", window " + strconv.Itoa(*d.MaxWindow)
	}
	return s
}
