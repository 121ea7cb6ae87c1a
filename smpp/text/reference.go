package text

// Reference is the number that ties the parts of the joined text with a sequence number: always the same one, so that
// parts sent again after a crash, by whatever process, complete at the phone what came before it.
//
// A phone tells texts apart by sender and number. Two texts have the same number only when their sequences differ by a
// multiple of 2^16, or of 2^8 by JoinUDH8, which uses the low octet; whoever sent them, and however close together.
func Reference(seq uint64) uint16 { return uint16(seq) }
