package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Defaults of a topology.
const (
	defaultMaxBytes        = 1 << 30
	defaultDuplicateWindow = 10 * time.Minute
	defaultJournalAge      = 72 * time.Hour
	defaultAckWait         = 120 * time.Second

	deferredAge       = 30 * 24 * time.Hour
	deferredDuplicate = 24 * time.Hour
	deferredMost      = 1_000_000 // copies of one route and reason
	inboundAge        = 72 * time.Hour
	finalTTL          = 24 * time.Hour
	learnedTTL        = 7 * 24 * time.Hour
	instanceTTL       = time.Minute // of what has no shorter life of its own
	controlHistory    = 16
	markerTTL         = time.Second

	// maxMessageSize leaves room for the headers of a copy in the deferred
	// stream: a message that could be published but not set aside would be stuck.
	maxMessageSize = 512 << 10
	// maxAckPending bounds what is in flight or waits, for all instances. A
	// message that waits counts, so the server's default of 1,000 would let one
	// throttled SMSC stop its own queue; 100,000 waiting cost 13 MB.
	maxAckPending = 100_000
	// metaCreatedSeq is the consumer's note of the stream's last sequence when it
	// was created: deliveries up to there count from 1 again, whatever happened
	// to them before.
	metaCreatedSeq = "sluice_created_seq"
)

// Lane is one class of one route: one subject and one consumer.
type Lane struct{ Route, Class string }

// Topology is what the gateway needs in NATS.
type Topology struct {
	// Prefix is the first part of every subject; empty keeps the client's.
	Prefix string
	// Replicas is 1 for a single server and 3 for a cluster; 0 means 1.
	Replicas int
	// MaxBytes bounds SMS_MT in octets; 0 means 1 GiB. A full stream refuses
	// messages.
	MaxBytes int64
	// JournalBytes bounds SMS_EVENTS in octets, the oldest events going first;
	// 0 means four times MaxBytes.
	JournalBytes int64
	// InboundBytes, MOBytes and DeferredBytes bound SMS_IN, SMS_MO and SMS_DEFERRED,
	// which refuse what they have no room for; BucketBytes the buckets together. 0
	// means 410, 205, 410 and 410 MiB.
	InboundBytes, MOBytes, DeferredBytes, BucketBytes int64
	// DuplicateWindow is how long Nats-Msg-Id is remembered; 0 means 10 min.
	DuplicateWindow time.Duration
	// JournalAge is how long events are kept; 0 means 72 h.
	JournalAge time.Duration
	// AckWait is how long a delivery may stay unanswered; 0 means 120 s. The
	// caller computes max(120 s, 3*response_timeout + 30 s).
	AckWait time.Duration
	Lanes   []Lane
}

// Ensure creates the streams, buckets and consumers that are missing, adds
// missing subjects to SMS_MT, and brings the sizes of what exists, and what a
// full stream does, to the topology where nothing stored is dropped by it, which
// is logged. It changes nothing else: what exists and differs is reported, one
// sentence each.
func (c *Client) Ensure(ctx context.Context, t Topology) (differences []string, err error) {
	if t.Prefix != "" {
		n, err := newNames(t.Prefix)
		if err != nil {
			return nil, err
		}
		c.names.Store(n)
	}
	t.applyDefaults()
	if err := t.validate(); err != nil {
		return nil, err
	}
	e := ensurer{js: c.js, names: c.names.Load(), topology: t}
	defer func() {
		if len(e.changed) > 0 {
			c.logger.Info("streams that exist were brought to the limits", "changed", strings.Join(e.changed, "; "))
		}
	}()
	for _, step := range []func(context.Context) error{e.streams, e.buckets, e.consumers} {
		if err := step(ctx); err != nil {
			return e.differences, err
		}
	}
	return e.differences, nil
}

func (t *Topology) applyDefaults() {
	t.Replicas = cmp.Or(t.Replicas, 1)
	t.MaxBytes = cmp.Or(t.MaxBytes, defaultMaxBytes)
	t.JournalBytes = cmp.Or(t.JournalBytes, 4*t.MaxBytes)
	t.InboundBytes = cmp.Or(t.InboundBytes, 410<<20)
	t.MOBytes = cmp.Or(t.MOBytes, 205<<20)
	t.DeferredBytes = cmp.Or(t.DeferredBytes, 410<<20)
	t.BucketBytes = cmp.Or(t.BucketBytes, 410<<20)
	t.DuplicateWindow = cmp.Or(t.DuplicateWindow, defaultDuplicateWindow)
	t.JournalAge = cmp.Or(t.JournalAge, defaultJournalAge)
	t.AckWait = cmp.Or(t.AckWait, defaultAckWait)
}

func (t *Topology) validate() error {
	var faults []error
	if len(t.Lanes) == 0 {
		faults = append(faults, errors.New("lanes: none; want at least one route with one class"))
	}
	owners := make(map[string]Lane)
	for _, l := range t.Lanes {
		faults = append(faults, CheckName("route", l.Route), CheckName("class", l.Class))
		if other, taken := owners[durable(l)]; taken && other != l {
			faults = append(faults, fmt.Errorf("class %q of route %q and class %q of route %q both need the consumer %q; rename one",
				other.Class, other.Route, l.Class, l.Route, durable(l)))
		}
		owners[durable(l)] = l
	}
	return errors.Join(faults...)
}

type ensurer struct {
	js          jetstream.JetStream
	names       *names
	topology    Topology
	differences []string
	changed     []string
}

func (e *ensurer) streams(ctx context.Context) error {
	n, t := e.names, e.topology
	subjects := make([]string, 0, len(t.Lanes))
	for _, l := range t.Lanes {
		subjects = append(subjects, n.mtSubject(l))
	}
	slices.Sort(subjects)
	wanted := []jetstream.StreamConfig{
		{
			Name: n.mt, Subjects: slices.Compact(subjects), Retention: jetstream.WorkQueuePolicy,
			Discard: jetstream.DiscardNew, MaxBytes: t.MaxBytes, MaxMsgSize: maxMessageSize, Duplicates: t.DuplicateWindow,
		},
		{Name: n.events, Subjects: []string{n.prefix + ".evt.>"}, MaxAge: t.JournalAge, MaxBytes: t.JournalBytes},
		{
			Name: n.deferred, Subjects: []string{n.prefix + ".deferred.>"}, MaxAge: deferredAge,
			Discard: jetstream.DiscardNew, MaxBytes: t.DeferredBytes, Duplicates: deferredDuplicate,
			DiscardNewPerSubject: true, MaxMsgsPerSubject: deferredMost,
		},
		{Name: n.in, Subjects: []string{n.prefix + ".in.*"}, MaxAge: inboundAge, MaxBytes: t.InboundBytes, Discard: jetstream.DiscardNew},
		{Name: n.mo, Subjects: []string{n.prefix + ".mo.*"}, MaxAge: inboundAge, MaxBytes: t.MOBytes, Discard: jetstream.DiscardNew},
	}
	e.shrinkFirst(ctx, wanted)
	for _, cfg := range wanted {
		cfg.Storage, cfg.Replicas, cfg.AllowDirect = jetstream.FileStorage, t.Replicas, true
		if err := e.stream(ctx, cfg); err != nil {
			return fmt.Errorf("stream %s: %w", cfg.Name, err)
		}
	}
	return nil
}

func (e *ensurer) stream(ctx context.Context, want jetstream.StreamConfig) error {
	s, err := e.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = e.js.CreateStream(ctx, want)
	}
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another instance was faster
		s, err = e.js.Stream(ctx, want.Name)
	}
	if err != nil {
		return err
	}
	have := s.CachedInfo().Config
	if want.Name == e.names.mt {
		if have, err = e.addSubjects(ctx, have, want.Subjects); err != nil {
			return err
		}
		want.Subjects = have.Subjects // more than configured is no difference: they may hold messages
	}
	have = e.limit(ctx, s, have, want)
	e.compareStream(have, want)
	return nil
}

// addSubjects adds what is missing. Two instances with different lanes may do
// so at once and the later write wins, so the result is read back.
func (e *ensurer) addSubjects(ctx context.Context, have jetstream.StreamConfig, want []string) (jetstream.StreamConfig, error) {
	const tries = 5
	for range tries {
		missing := slices.DeleteFunc(slices.Clone(want), func(s string) bool { return slices.Contains(have.Subjects, s) })
		if len(missing) == 0 {
			return have, nil
		}
		have.Subjects = append(slices.Clone(have.Subjects), missing...)
		if _, err := e.js.UpdateStream(ctx, have); err != nil {
			return have, fmt.Errorf("adding the subjects %v: %w", missing, err)
		}
		s, err := e.js.Stream(ctx, have.Name)
		if err != nil {
			return have, err
		}
		have = s.CachedInfo().Config
	}
	return have, errors.New("another instance keeps replacing the subjects; give all instances the same routes")
}

func (e *ensurer) compareStream(have, want jetstream.StreamConfig) {
	if want.Duplicates == 0 {
		want.Duplicates = have.Duplicates // the server's choice
	}
	what := "stream " + want.Name
	e.differ(what, "subjects", fmt.Sprint(have.Subjects), fmt.Sprint(want.Subjects))
	e.differ(what, "retention", have.Retention, want.Retention)
	e.differ(what, "storage", have.Storage, want.Storage)
	e.differ(what, "replicas", have.Replicas, want.Replicas)
	e.differ(what, "discard", have.Discard, want.Discard)
	e.differ(what, "max_age", have.MaxAge, want.MaxAge)
	e.differ(what, "max_bytes", unlimited(have.MaxBytes), unlimited(want.MaxBytes))
	e.differ(what, "max_msgs_per_subject", unlimited(have.MaxMsgsPerSubject), unlimited(want.MaxMsgsPerSubject))
	e.differ(what, "max_msg_size", unlimited(int64(have.MaxMsgSize)), unlimited(int64(want.MaxMsgSize)))
	e.differ(what, "duplicate_window", have.Duplicates, want.Duplicates)
	e.differ(what, "allow_direct", have.AllowDirect, want.AllowDirect)
}

// unlimited is how the server writes a limit of 0.
func unlimited(n int64) int64 {
	if n == 0 {
		return -1
	}
	return n
}

func (e *ensurer) differ(what, field string, have, want any) {
	if have != want {
		e.differences = append(e.differences, fmt.Sprintf("%s: %s is %v, configured is %v", what, field, have, want))
	}
}

func (e *ensurer) buckets(ctx context.Context) error {
	n := e.names
	percent := e.topology.BucketBytes / 100
	for _, want := range []jetstream.KeyValueConfig{
		{Bucket: n.waiting, LimitMarkerTTL: markerTTL, MaxBytes: 30 * percent},
		{Bucket: n.final, TTL: finalTTL, MaxBytes: 15 * percent},
		{Bucket: n.receipts, LimitMarkerTTL: markerTTL, MaxBytes: 40 * percent},
		{Bucket: n.control, History: controlHistory, LimitMarkerTTL: markerTTL, MaxBytes: 5 * percent},
		{Bucket: n.learned, TTL: learnedTTL, MaxBytes: 5 * percent},
		{Bucket: n.instances, TTL: instanceTTL, LimitMarkerTTL: markerTTL, MaxBytes: 5 * percent},
	} {
		want.Replicas, want.Storage = e.topology.Replicas, jetstream.FileStorage
		if err := e.bucket(ctx, want); err != nil {
			return fmt.Errorf("bucket %s: %w", want.Bucket, err)
		}
	}
	return nil
}

func (e *ensurer) bucket(ctx context.Context, want jetstream.KeyValueConfig) error {
	kv, err := e.js.KeyValue(ctx, want.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = e.js.CreateKeyValue(ctx, want)
	}
	if errors.Is(err, jetstream.ErrBucketExists) {
		kv, err = e.js.KeyValue(ctx, want.Bucket)
	}
	if err != nil {
		return err
	}
	status, err := kv.Status(ctx)
	if err != nil {
		return err
	}
	have, what := status.Config(), "bucket "+want.Bucket
	if have.TTL != want.TTL && want.Bucket == e.names.instances { // an earlier version made it with 10 s; its keys live on
		have.TTL = want.TTL
		if _, err := e.js.UpdateKeyValue(ctx, have); err != nil {
			have = status.Config()
		}
	}
	if have.MaxBytes != want.MaxBytes {
		if s, err := e.js.Stream(ctx, bucketStream(want.Bucket)); err == nil {
			had := s.CachedInfo().Config
			limit := had
			limit.MaxBytes = want.MaxBytes
			have.MaxBytes = e.limit(ctx, s, had, limit).MaxBytes
		}
	}
	e.differ(what, "max_bytes", unlimited(have.MaxBytes), want.MaxBytes)
	e.differ(what, "history", max(have.History, 1), max(want.History, 1))
	e.differ(what, "ttl", have.TTL, want.TTL)
	e.differ(what, "limit_marker_ttl", have.LimitMarkerTTL, want.LimitMarkerTTL)
	e.differ(what, "storage", have.Storage, want.Storage)
	e.differ(what, "replicas", have.Replicas, want.Replicas)
	return nil
}

func (e *ensurer) consumers(ctx context.Context) error {
	for _, l := range e.topology.Lanes {
		have, err := ensureConsumer(ctx, e.js, e.names, l, e.topology.AckWait)
		if err != nil {
			return err
		}
		want, what := consumerConfig(e.names, l, e.topology.AckWait), "consumer "+durable(l)
		e.differ(what, "filter_subject", have.FilterSubject, want.FilterSubject)
		e.differ(what, "ack_policy", have.AckPolicy, want.AckPolicy)
		e.differ(what, "ack_wait", have.AckWait, want.AckWait)
		e.differ(what, "max_deliver", have.MaxDeliver, want.MaxDeliver)
		e.differ(what, "max_ack_pending", have.MaxAckPending, want.MaxAckPending)
		e.differ(what, "backoff", fmt.Sprint(have.BackOff), fmt.Sprint(want.BackOff))
		e.differ(what, "inactive_threshold", have.InactiveThreshold, want.InactiveThreshold)
	}
	return nil
}

// consumerConfig is the one durable consumer of a lane, shared by all
// instances. It has no BackOff, which would shift every delay asked for with a
// negative acknowledgement, and no InactiveThreshold, which would delete it
// with all that waits.
func consumerConfig(n *names, l Lane, ackWait time.Duration) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable: durable(l), FilterSubject: n.mtSubject(l),
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait, MaxDeliver: -1, MaxAckPending: maxAckPending,
	}
}

// ensureConsumer returns the configuration of the lane's consumer, which it
// creates when it is missing.
func ensureConsumer(ctx context.Context, js jetstream.JetStream, n *names, l Lane, ackWait time.Duration) (jetstream.ConsumerConfig, error) {
	consumer, err := js.Consumer(ctx, n.mt, durable(l))
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		consumer, err = createConsumer(ctx, js, n, l, ackWait)
	}
	if err != nil {
		return jetstream.ConsumerConfig{}, fmt.Errorf("consumer %s: %w", durable(l), err)
	}
	return consumer.CachedInfo().Config, nil
}

func createConsumer(ctx context.Context, js jetstream.JetStream, n *names, l Lane, ackWait time.Duration) (jetstream.Consumer, error) {
	stream, err := js.Stream(ctx, n.mt)
	if err != nil {
		return nil, err
	}
	cfg := consumerConfig(n, l, ackWait)
	cfg.Metadata = map[string]string{metaCreatedSeq: strconv.FormatUint(stream.CachedInfo().State.LastSeq, 10)}
	consumer, err := js.CreateConsumer(ctx, n.mt, cfg)
	if errors.Is(err, jetstream.ErrConsumerExists) { // another instance was faster
		return js.Consumer(ctx, n.mt, cfg.Durable)
	}
	return consumer, err
}

// createdSeq is the sequence up to which the consumer's delivery counts say
// nothing about what happened before it was created.
func createdSeq(cfg jetstream.ConsumerConfig) uint64 {
	seq, _ := strconv.ParseUint(cfg.Metadata[metaCreatedSeq], 10, 64) // absent in one made by hand: then 0
	return seq
}
