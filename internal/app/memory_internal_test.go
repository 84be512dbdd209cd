package app

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAvailableMemory(t *testing.T) {
	t.Parallel()
	const machine = "MemTotal:        4000000 kB\nMemFree:  1 kB\n"
	const all = 4000000 << 10
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing is known": {nil, 0},
		"a machine":        {map[string]string{"proc/meminfo": machine}, all},
		"a container, version 2": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n",
		}, 512 << 20},
		"a container without a limit": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n",
		}, all},
		"a unit in a slice with a limit": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/system.slice/writ.service\n",
			"sys/fs/cgroup/system.slice/memory.max":              "1073741824\n",
			"sys/fs/cgroup/system.slice/writ.service/memory.max": "max\n",
		}, 1 << 30},
		"a container, version 1": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "5:cpu,memory:/docker/abc\n1:name=systemd:/x\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "268435456\n",
		}, 256 << 20},
		"more than the machine has": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "5:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, all},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for file, content := range c.files {
				file = filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := availableMemory(root); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}
