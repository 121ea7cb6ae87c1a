package queue

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	defaultPrefix = "sms"
	maxNameLength = 32
)

// names derives every stream, bucket and subject from the prefix.
type names struct {
	prefix                           string
	mt, events, deferred, in, mo     string // streams
	waiting, final, receipts         string // buckets
	control, learned, instances      string // buckets
	mtPrefix, evtPrefix, deferPrefix string // subjects, with the trailing dot
}

func newNames(prefix string) (*names, error) {
	if prefix == "" {
		prefix = defaultPrefix
	}
	if err := CheckName("prefix", prefix); err != nil {
		return nil, err
	}
	if prefix != strings.ToLower(prefix) { // streams are named in upper case
		return nil, fmt.Errorf("prefix %q: want lower case", prefix)
	}
	stream := strings.ToUpper(prefix) + "_"
	// Keys in the buckets are stream sequences: two gateways with different
	// prefixes must not share a bucket.
	bucket := "sluice_"
	if prefix != defaultPrefix {
		bucket += prefix + "_"
	}
	return &names{
		prefix: prefix,
		mt:     stream + "MT", events: stream + "EVENTS", deferred: stream + "DEFERRED", in: stream + "IN", mo: stream + "MO",
		waiting: bucket + "waiting", final: bucket + "final", receipts: bucket + "receipts",
		control: bucket + "control", learned: bucket + "learned", instances: bucket + "instances",
		mtPrefix: prefix + ".mt.", evtPrefix: prefix + ".evt.", deferPrefix: prefix + ".deferred.",
	}, nil
}

// CheckName reports whether value can name a route, class, account or tenant:
// 1 to 32 of the characters A-Z, a-z, 0-9, '_' and '-'. The error names the
// field.
func CheckName(field, value string) error {
	if validName(value) {
		return nil
	}
	return fmt.Errorf("%s %q: want 1 to %d of the characters A-Z a-z 0-9 _ -", field, value, maxNameLength)
}

func validName(s string) bool {
	if s == "" || len(s) > maxNameLength {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isAlphanumeric(c) && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func isAlphanumeric(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func (n *names) mtSubject(l Lane) string { return n.mtPrefix + l.Route + "." + l.Class }

func (n *names) deferredSubject(route, reason string) string {
	return n.deferPrefix + route + "." + reason
}

func (n *names) inSubject(account string) string { return n.prefix + ".in." + account }

func (n *names) moSubject(account string) string { return n.prefix + ".mo." + account }

// durable names the consumer of a lane.
func durable(l Lane) string { return l.Route + "_" + l.Class }

func bucketStream(bucket string) string { return "KV_" + bucket }

func bucketSubject(bucket, key string) string { return "$KV." + bucket + "." + key }

func seqKey(seq uint64) string { return strconv.FormatUint(seq, 10) }
