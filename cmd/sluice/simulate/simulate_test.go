package simulate

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/cmd/sluice/policy"
	"sluice/testserver"
	"sluice/testserver/limiter"
	"sluice/window"
)

// moving is a ceiling that falls and rises.
func moving() testserver.Scenario {
	return testserver.Scenario{
		Name: "moving", Latency: testserver.Exactly(20 * time.Millisecond),
		Limits: []testserver.Limit{{Kind: testserver.TokenBucket, Burst: 10, Rate: testserver.Steps(
			limiter.Step{Rate: 100}, limiter.Step{At: 30 * time.Second, Rate: 40}, limiter.Step{At: 60 * time.Second, Rate: 120})}},
	}
}

func simulated(t *testing.T, o Options) Result {
	t.Helper()
	if o.Duration == 0 {
		o.Duration = 2 * time.Minute
	}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// golden compares with a file of testdata, or writes it when SLUICE_WRITE_GOLDEN is set.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("SLUICE_WRITE_GOLDEN") != "" {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; SLUICE_WRITE_GOLDEN=1 writes it anew. Got:\n%s", path, got)
	}
}

func TestOutputOfASeed(t *testing.T) {
	for _, name := range policy.Names() {
		r := simulated(t, Options{Scenario: moving(), Policy: name, Seed: 1})
		var b bytes.Buffer
		if err := errors.Join(r.Chart(&b, 80, false), r.Table(&b)); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".txt", b.Bytes())
	}
}

func TestSluiceUsesASteadyCeilingBest(t *testing.T) {
	sc := moving()
	sc.Limits[0].Rate = testserver.PerSecond(100)
	worth := map[string]float64{}
	for _, name := range policy.Names() {
		r := simulated(t, Options{Scenario: sc, Policy: name, Seed: 1})
		worth[name] = r.ShareLater * max(0.01, 1-10*r.ThrottledLater)
		if r.Submits < r.Accepted+r.Throttled+r.Other {
			t.Errorf("%s: more answers than submits: %+v", name, r)
		}
	}
	for name, w := range worth {
		if name != policy.NameSluice && w >= worth[policy.NameSluice] {
			t.Errorf("%s is worth %.2f, Sluice %.2f", name, w, worth[policy.NameSluice])
		}
	}
	if worth[policy.NameSluice] < 0.92 {
		t.Errorf("Sluice is worth %.2f, want 0.92", worth[policy.NameSluice])
	}
}

func TestMessagesEndTheRun(t *testing.T) {
	r := simulated(t, Options{Scenario: moving(), Policy: policy.NameHalve, Messages: 500, Seed: 1})
	if r.Accepted != 500 || r.Submits != 500+r.Throttled {
		t.Errorf("%d of %d submits accepted, %d throttled: want 500 accepted", r.Accepted, r.Submits, r.Throttled)
	}
}

func TestTheOperatorsValuesCount(t *testing.T) {
	r := simulated(t, Options{Scenario: moving(), Policy: policy.NameSluice, Window: window.Config{Declared: 30}, Seed: 1})
	if r.Throttled != 0 || r.Accepted > 30*120+1 {
		t.Errorf("with a declared rate of 30 below the ceiling: %d throttled, %d accepted", r.Throttled, r.Accepted)
	}
}

func TestWhatIsNotSimulatedIsNamed(t *testing.T) {
	sc := moving()
	sc.Faults = []testserver.Fault{{Kind: testserver.FaultSwallow}}
	r := simulated(t, Options{Scenario: sc, Policy: policy.NameSluice})
	if len(r.Notes) != 1 || r.Notes[0] != "not simulated: faults[0] (swallow)" {
		t.Errorf("notes %q", r.Notes)
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	for want, o := range map[string]Options{
		"duration 0s":    {Policy: policy.NameSluice},
		"messages -1":    {Policy: policy.NameSluice, Duration: time.Minute, Messages: -1},
		`policy "vegas"`: {Policy: "vegas", Duration: time.Minute},
	} {
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %s", err, want)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(gone, Options{Policy: policy.NameSluice, Duration: time.Minute}); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: %v", err)
	}
}

func TestPictures(t *testing.T) {
	r := simulated(t, Options{Scenario: moving(), Policy: policy.NameSluice, Seed: 1})
	var svg, raster bytes.Buffer
	if err := errors.Join(r.SVG(&svg), r.PNG(&raster)); err != nil {
		t.Fatal(err)
	}
	decoder := xml.NewDecoder(bytes.NewReader(svg.Bytes()))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the SVG is no XML: %v", err)
		}
	}
	for _, word := range []string{"moving: sluice", "ceiling", "throttled", "120 s"} {
		if !strings.Contains(svg.String(), word) {
			t.Errorf("the SVG does not show %q", word)
		}
	}
	picture, err := png.Decode(&raster)
	if err != nil {
		t.Fatal(err)
	}
	// In the middle of the second third the bottom is accepted messages and the top is empty.
	f := pictureFrame()
	for y, want := range map[int][3]uint8{f.bottom - 5: acceptedColour(), f.top + 3: {0xff, 0xff, 0xff}} {
		red, green, blue, _ := picture.At((f.left+f.right)/2, y).RGBA()
		if got := [3]uint8{uint8(red >> 8), uint8(green >> 8), uint8(blue >> 8)}; got != want {
			t.Errorf("colour %v at %d, want %v", got, y, want)
		}
	}
}
