package simulate

import (
	"image"
	"strings"
	"unicode"
)

// The standard library draws no text: these are capital letters, digits and a few signs of 3 by 5 dots, drawn twice as
// large.
const (
	glyphScale  = 2
	glyphHeight = 5 * glyphScale
	advance     = 4 * glyphScale
)

// glyphs has for each sign its five rows of three dots, as octal digits from top to bottom.
const glyphs = `0:75557 1:26227 2:71747 3:71717 4:55711 5:74717 6:74757 7:71222 8:75757 9:75717
A:25755 B:65656 C:34443 D:65556 E:74647 F:74644 G:34553 H:55755 I:72227 J:11152 K:55655 L:44447 M:57755 N:65555
O:25552 P:65644 Q:25563 R:65655 S:34216 T:72222 U:55557 V:55552 W:55775 X:55255 Y:55222 Z:71247
.:00002 -:00700 /:11244 %:51245 ::02020 _:00007`

// glyph is the rows of a sign; blank for one that is not there.
func glyph(r rune) string {
	at := strings.Index(glyphs, string(unicode.ToUpper(r))+":")
	if at < 0 || r == ' ' || r == '\n' {
		return "00000"
	}
	if r == ':' {
		at = strings.Index(glyphs, "::")
	}
	return glyphs[at+2 : at+7]
}

func textWidth(text string) int { return advance * len([]rune(text)) }

// text draws with its upper left corner at a place.
func (c canvas) text(x, y int, text string, colour [3]uint8) {
	for _, r := range text {
		for row, dots := range glyph(r) {
			for column := range 3 {
				if (dots-'0')>>(2-column)&1 == 1 {
					left, top := x+column*glyphScale, y+row*glyphScale
					c.fill(image.Rect(left, top, left+glyphScale, top+glyphScale), colour)
				}
			}
		}
		x += advance
	}
}
