package text

import "testing"

// The number depends on the sequence alone, and neighbours differ in the octet that JoinUDH8 uses.
func TestReference(t *testing.T) {
	seen := map[byte]uint64{}
	for seq := uint64(1<<16 - 100); seq < 1<<16+156; seq++ {
		got := Reference(seq)
		if again := Reference(seq); again != got {
			t.Errorf("the text of sequence %d has the numbers %d and %d", seq, got, again)
		}
		if before, ok := seen[byte(got)]; ok {
			t.Errorf("the texts of sequences %d and %d share the octet %d", before, seq, byte(got))
		}
		seen[byte(got)] = seq
	}
}
