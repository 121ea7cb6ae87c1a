package pdu

import "fmt"

// String returns the name in the specification, or the number as "0x1400".
func (t Tag) String() string { return fmt.Sprintf("0x%04X", uint16(t)) }
