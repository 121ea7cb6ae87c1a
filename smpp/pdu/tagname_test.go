package pdu

import "testing"

func TestTagNamedFindsEveryName(t *testing.T) {
	named := 0
	for n := range 1 << 16 {
		tag := Tag(n)
		if _, name := tag.describe(); name != "" {
			named++
			if got, ok := TagNamed(name); !ok || got != tag {
				t.Errorf("TagNamed(%q) = %v, %v, want %v", name, got, ok, tag)
			}
		}
	}
	if named < 60 {
		t.Errorf("%d tags have a name, want at least 60", named)
	}
	for _, name := range []string{"", "nonsense", "0x1400"} {
		if tag, ok := TagNamed(name); ok {
			t.Errorf("TagNamed(%q) = %v, want none", name, tag)
		}
	}
}
