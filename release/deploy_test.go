package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
)

const deploy = "../deploy"

// TestKubernetesManifests decodes the manifests as strictly as Kubernetes can, and checks that they fit together.
func TestKubernetesManifests(t *testing.T) {
	objects := readManifests(t)
	var server *apps.Deployment
	settings, secrets, kinds := map[string]string{}, map[string]string{}, map[string]int{}
	for _, o := range objects {
		kinds[fmt.Sprintf("%T", o)]++
		switch o := o.(type) {
		case *apps.Deployment:
			server = o
		case *core.ConfigMap:
			settings = o.Data
		case *core.Secret:
			secrets = o.StringData
		}
	}
	for _, kind := range []string{
		"*v1.Namespace", "*v1.Service", "*v1.ConfigMap", "*v1.Secret", "*v1.Deployment", "*v1.NetworkPolicy",
		"*v1.PodDisruptionBudget",
	} {
		if kinds[kind] == 0 {
			t.Errorf("there is no %s", kind)
		}
	}
	if server == nil {
		t.Fatal("there is no Deployment")
	}
	checkServer(t, server.Spec.Template.Spec, secrets)
	for _, name := range []string{"WRIT_ENV", "WRIT_PUBLIC_URL"} {
		if settings[name] == "" {
			t.Errorf("the ConfigMap does not set %s", name)
		}
	}
}

// TestRestoreJob checks that the pod of a restore is that of the servers, but for what runs in it: it has the same
// secrets, and no rights that the namespace refuses.
func TestRestoreJob(t *testing.T) {
	const file = deploy + "/kubernetes/restore/job.yaml"
	var server core.PodSpec
	for _, o := range readManifests(t) {
		switch o := o.(type) {
		case *apps.Deployment:
			server = o.Spec.Template.Spec
		case *batch.Job:
			t.Error("whoever applies the folder restores")
		}
	}
	objects := decode(t, file, read(t, file))
	if len(objects) != 1 {
		t.Fatalf("%s has %d objects, want 1", file, len(objects))
	}
	job := objects[0].(*batch.Job)
	pod := job.Spec.Template.Spec
	if got := pod.Containers[0].Args; !slices.Equal(got, []string{"restore", "--loaded"}) {
		t.Errorf("it runs %v", got)
	}
	if pod.RestartPolicy != core.RestartPolicyNever || *job.Spec.BackoffLimit != 0 {
		t.Error("a restore that failed is repeated before anybody has read why")
	}
	server.RestartPolicy, server.TerminationGracePeriodSeconds = pod.RestartPolicy, nil
	server.TopologySpreadConstraints = nil
	c := &server.Containers[0]
	c.Args, c.Ports = pod.Containers[0].Args, nil
	c.StartupProbe, c.LivenessProbe, c.ReadinessProbe = nil, nil, nil
	if a, b := words(t, pod), words(t, server); a != b {
		t.Errorf("the pod is\n%s\nand that of the servers\n%s", a, b)
	}
}

func checkServer(t *testing.T, pod core.PodSpec, secrets map[string]string) {
	t.Helper()
	c := pod.Containers[0]
	if c.LivenessProbe == nil || c.ReadinessProbe == nil || c.StartupProbe == nil {
		t.Error("a probe is missing")
	}
	wanted, most := c.Resources.Requests, c.Resources.Limits
	if wanted.Cpu().IsZero() || wanted.Memory().IsZero() || most.Memory().IsZero() {
		t.Error("resources are missing")
	}
	if s := c.SecurityContext; !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation ||
		!slices.Contains(s.Capabilities.Drop, "ALL") {
		t.Error("the container is not read-only and without rights")
	}
	if s := pod.SecurityContext; !*s.RunAsNonRoot || *s.RunAsUser != imageUser {
		t.Errorf("the pod does not run as %d, which owns /data of the image", imageUser)
	}
	if *pod.AutomountServiceAccountToken {
		t.Error("the pod has a token of Kubernetes")
	}
	for _, e := range c.Env {
		key, ok := strings.CutPrefix(e.Value, "/run/secrets/writ/")
		if ok && secrets[key] == "" {
			t.Errorf("%s names %s, which the secret does not have", e.Name, key)
		}
	}
}

func readManifests(t *testing.T) (objects []runtime.Object) {
	t.Helper()
	files, err := filepath.Glob(deploy + "/kubernetes/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	for _, file := range files {
		objects = append(objects, decode(t, file, read(t, file))...)
	}
	return objects
}

// decode reads the objects of a file, and accepts no member that Kubernetes does not know.
func decode(t *testing.T, file string, text []byte) (objects []runtime.Object) {
	t.Helper()
	decoder := strictDecoder(t)
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		object, _, err := decoder.Decode(document, nil, nil)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		objects = append(objects, object)
	}
	return objects
}

func strictDecoder(t *testing.T) runtime.Decoder {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		core.AddToScheme, apps.AddToScheme, batch.AddToScheme, networking.AddToScheme, policy.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, scheme, scheme,
		serializer.SerializerOptions{Yaml: true, Strict: true})
}

// TestMisspelledMember shows that the tests of manifests can fail.
func TestMisspelledMember(t *testing.T) {
	misspelled := []byte("apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {prots: []}\n")
	if _, _, err := strictDecoder(t).Decode(misspelled, nil, nil); err == nil {
		t.Error("a misspelled member is accepted")
	}
}

// TestComposeFile reads the compose file as compose does, with its schema.
func TestComposeFile(t *testing.T) {
	project, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  deploy,
		ConfigFiles: []types.ConfigFile{{Filename: "compose.yaml", Content: read(t, deploy+"/compose.yaml")}},
		Environment: types.Mapping{"WRIT_VERSION": "1.0.0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	server, err := project.GetService("writ")
	if err != nil {
		t.Fatal(err)
	}
	if !server.ReadOnly || !slices.Contains(server.CapDrop, "ALL") || server.Privileged {
		t.Error("the server is not read-only and without rights")
	}
	for _, port := range server.Ports {
		if port.HostIP != "127.0.0.1" {
			t.Errorf("port %s is open to other machines without TLS", port.Published)
		}
	}
	if _, err := project.GetService("postgres"); err != nil {
		t.Error(err)
	}
	if !project.Networks["database"].Internal {
		t.Error("PostgreSQL reaches other machines")
	}
}

// TestDockerfile compares the Dockerfile with the image of a release, so that both run in the same way.
func TestDockerfile(t *testing.T) {
	_, last, found := cutLast(string(read(t, deploy+"/Dockerfile")), "\nFROM scratch\n")
	if !found {
		t.Fatal("the Dockerfile does not end with an image from scratch")
	}
	said := map[string]string{}
	for line := range strings.Lines(last) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		said[word] = rest
	}
	c := imageConfig()
	health := fmt.Sprintf("--interval=%gs --timeout=%gs --start-period=%gs --retries=%d CMD %s",
		c.Healthcheck.Interval.Seconds(), c.Healthcheck.Timeout.Seconds(), c.Healthcheck.StartPeriod.Seconds(),
		c.Healthcheck.Retries, words(t, c.Healthcheck.Test[1:]))
	for word, want := range map[string]string{
		"USER": c.User, "WORKDIR": c.WorkingDir, "ENV": strings.Join(c.Env, " "), "STOPSIGNAL": c.StopSignal,
		"ENTRYPOINT": words(t, c.Entrypoint), "CMD": words(t, c.Cmd), "HEALTHCHECK": health,
		"EXPOSE": "8080", "VOLUME": "/data",
	} {
		if said[word] != want {
			t.Errorf("%s %s, the image of a release has %s", word, said[word], want)
		}
	}
	if _, ok := c.ExposedPorts["8080/tcp"]; !ok {
		t.Error("the image of a release does not name port 8080")
	}
}

func words(t *testing.T, list any) string {
	t.Helper()
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), `","`, `", "`)
}

// TestSettingsExist checks that deploy sets only what the server knows: it refuses to start with others.
func TestSettingsExist(t *testing.T) {
	known := string(read(t, "../docs/configuration.md"))
	setting := regexp.MustCompile(`\b(WRIT_[A-Z_]+|DATABASE_URL[A-Z_]*)`)
	count := 0
	err := filepath.WalkDir(deploy, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		for _, name := range setting.FindAllString(string(read(t, path)), -1) {
			count++
			base := strings.TrimSuffix(name, "_FILE")
			if !strings.Contains(known, "`"+base+"`") && name != "WRIT_VERSION" { // that one is compose's own
				t.Errorf("%s sets %s, which the server does not know", path, name)
			}
		}
		return nil
	})
	if err != nil || count < 20 {
		t.Errorf("%d settings found: %v", count, err)
	}
}

// TestImageIsNotRoot checks what clusters ask of an image.
func TestImageIsNotRoot(t *testing.T) {
	c := imageConfig()
	if c.User != "65532:65532" {
		t.Errorf("the user is %q, want numbers that are not root's", c.User)
	}
	if !strings.Contains(authorities(), "BEGIN CERTIFICATE") || strings.Count(authorities(), "BEGIN") < 50 {
		t.Error("the certificate authorities are missing")
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
