// Package crashpoint names the places at which a gateway may die, so that a test can kill it there. Without the build
// tag crashpoints it is empty, and costs nothing.
package crashpoint

// Point is a place on the way of a message.
type Point string

// The places, in their order.
const (
	AfterPull     Point = "after_pull"     // a message is handed out
	AfterWrite    Point = "after_write"    // a submit_sm has reached the network
	AfterResponse Point = "after_response" // its answer has come
	AfterJournal  Point = "after_journal"  // an outcome is in the journal
	AfterRecord   Point = "after_record"   // so is the record of a message that waits
	BeforeNak     Point = "before_nak"     // it is about to be given back
	BeforeAck     Point = "before_ack"     // it is about to be taken out of the queue
)

// Points lists them in their order.
func Points() []Point {
	return []Point{AfterPull, AfterWrite, AfterResponse, AfterJournal, AfterRecord, BeforeNak, BeforeAck}
}
