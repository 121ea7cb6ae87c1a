package queue

import (
	"errors"
	"strings"
	"testing"
)

func TestEmbeddedStoreBelongsToOne(t *testing.T) {
	dir := t.TempDir()
	first, err := StartEmbedded(EmbeddedConfig{Dir: dir, Listen: "127.0.0.1:-1"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = StartEmbedded(EmbeddedConfig{Dir: dir, Listen: "127.0.0.1:-1"})
	if !errors.Is(err, ErrStoreLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("second server: %v, want ErrStoreLocked naming %s", err, dir)
	}
	first.Shutdown()
	again, err := StartEmbedded(EmbeddedConfig{Dir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatalf("after the first has stopped: %v", err)
	}
	again.Shutdown()
}

func TestEmbeddedFaultsSayWhatIsWrong(t *testing.T) {
	taken, err := StartEmbedded(EmbeddedConfig{Dir: t.TempDir(), Listen: "127.0.0.1:-1"})
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Shutdown()
	for name, tc := range map[string]struct {
		cfg  EmbeddedConfig
		want string
	}{
		"no folder":   {EmbeddedConfig{Listen: "127.0.0.1:-1"}, "dir is empty"},
		"no port":     {EmbeddedConfig{Dir: t.TempDir(), Listen: "127.0.0.1"}, "want host:port"},
		"port beyond": {EmbeddedConfig{Dir: t.TempDir(), Listen: "127.0.0.1:70000"}, "want host:port"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := StartEmbedded(tc.cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestEmbeddedAsksForCredentials(t *testing.T) {
	e, err := StartEmbedded(EmbeddedConfig{Dir: t.TempDir(), Listen: "127.0.0.1:-1", User: "gw", Password: "secret-pw"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Shutdown()
	if _, err := Connect(t.Context(), ConnectConfig{URL: e.URL()}); err == nil || strings.Contains(err.Error(), "secret-pw") {
		t.Errorf("without credentials: %v", err)
	}
	c, err := Connect(t.Context(), ConnectConfig{URL: e.URL(), User: "gw", Password: "secret-pw"})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
