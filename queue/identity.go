package queue

import "strconv"

// Headers of a message.
const (
	// HeaderDeliveryID names the delivery, before the payload's id.
	HeaderDeliveryID = "Sluice-Delivery-Id"
	// HeaderReplayOf is the sequence that a replayed message had before.
	HeaderReplayOf = "Sluice-Replay-Of"
	// HeaderPossibleDuplicate, "true", marks a replay whose first submit may
	// have been accepted.
	HeaderPossibleDuplicate = "Sluice-Possible-Duplicate"
	// HeaderExpiresAt is the deadline of a replay in RFC 3339, whatever the
	// payload says; on a copy in the deferred stream it is the deadline that the
	// message had.
	HeaderExpiresAt = "Sluice-Expires-At"
	// HeaderReplays is how many times a message has been replayed.
	HeaderReplays = "Sluice-Replays"
)

// Headers of a message in the deferred stream, beside its own.
const (
	HeaderDeferredReason  = "Sluice-Reason"
	HeaderOriginalSubject = "Sluice-Original-Subject"
	HeaderOriginalSeq     = "Sluice-Original-Seq"
	HeaderOriginalTime    = "Sluice-Original-Time"
	HeaderOriginalMsgID   = "Sluice-Original-Msg-Id"
	HeaderEvent           = "Sluice-Event"
)

// DeliveryID picks the name of a delivery: the header, the payload's id, the
// Nats-Msg-Id, or else the place in the stream. A header that cannot be an id
// is passed over here; [Job].Message reports it. The message may be nil.
func DeliveryID(header func(key string) string, m *Message, stream string, seq uint64) string {
	if id := header(HeaderDeliveryID); validID(id) {
		return id
	}
	if m != nil && m.ID != "" {
		return m.ID
	}
	if id := header(headerOnce); validID(id) {
		return id
	}
	return stream + ":" + strconv.FormatUint(seq, 10)
}
