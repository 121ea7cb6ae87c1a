// Package queue is the gateway's memory: it reads messages from NATS
// JetStream, hands them out one by one as jobs, and settles each of them.
//
// A message lives in the work-queue stream SMS_MT under its stream sequence
// number, which is its key everywhere. An [Intake] pulls exactly as many
// messages as there are callers waiting in [Intake.Next]. What a caller learns
// about its message goes back through [Job.Settle], always in one order:
//
//  1. the copy for a person, when the message is set aside (SMS_DEFERRED),
//  2. the event in the journal (SMS_EVENTS),
//  3. the receipt index (bucket sluice_receipts),
//  4. the record of a waiting message (bucket sluice_waiting),
//  5. the acknowledgement, or a negative one with the delay.
//
// Each of the first four is confirmed by the server before the next is
// written, so a process that dies between two of them leaves enough behind for
// the next delivery of the message to know what happened: the record, or else
// the journal, explains it. What neither explains is an unknown outcome, and
// the job says so ([State].Unexplained).
//
// The package knows NATS and nothing of SMPP: a command status is a number
// here, and a message id of the SMSC a string.
package queue
