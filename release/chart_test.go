package main

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

const chartFolder = deploy + "/chart"

// TestChartIsTheManifests checks that the chart makes the plain manifests, unless it is told otherwise. It leaves out
// the namespace, which must be there before, and the secret, which helm would store a second time.
func TestChartIsTheManifests(t *testing.T) {
	want := map[string]runtime.Object{}
	for _, o := range readManifests(t) {
		want[key(o)] = o
	}
	delete(want, "Namespace/writ")
	delete(want, "Secret/writ")
	got := render(t, "writ", "")
	for name, object := range got {
		if server, ok := object.(*apps.Deployment); ok {
			// Only the chart can say by which settings the servers were started.
			if len(server.Spec.Template.Annotations["checksum/settings"]) != 64 {
				t.Error("servers are not started again when settings change")
			}
			server.Spec.Template.Annotations = nil
		}
		if want[name] == nil {
			t.Errorf("the manifests have no %s", name)
		} else if a, b := text(t, object), text(t, want[name]); a != b {
			t.Errorf("%s of the chart is\n%s\nand of the manifests\n%s", name, a, b)
		}
	}
	if len(got) != len(want) {
		t.Errorf("the chart makes %v, want %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// TestChartWithTLS checks that servers with a certificate are asked in TLS, by probes and by the ingress.
func TestChartWithTLS(t *testing.T) {
	objects := render(t, "writ", `{tls: {secretName: writ-tls}, ingress: {enabled: true, className: nginx,
		tlsSecretName: writ-ingress, annotations: {nginx.ingress.kubernetes.io/backend-protocol: HTTPS}}}`)
	c := objects["Deployment/writ"].(*apps.Deployment).Spec.Template.Spec.Containers[0]
	for name, probe := range map[string]*core.Probe{
		"startup": c.StartupProbe, "liveness": c.LivenessProbe, "readiness": c.ReadinessProbe,
	} {
		if probe.HTTPGet.Scheme != core.URISchemeHTTPS {
			t.Errorf("the %s probe asks without TLS", name)
		}
	}
	for _, e := range c.Env {
		if strings.HasPrefix(e.Name, "WRIT_TLS_") && !strings.HasPrefix(e.Value, "/run/secrets/tls/tls.") {
			t.Errorf("%s is %s, which is not in the secret", e.Name, e.Value)
		}
	}
	if len(c.Env) != 4 || c.VolumeMounts[1].MountPath != "/run/secrets/tls" {
		t.Errorf("the server has no certificate: %v, %v", c.Env, c.VolumeMounts)
	}
	service := objects["Service/writ"].(*core.Service).Spec.Ports[0]
	way := objects["Ingress/writ"].(*networking.Ingress)
	rule := way.Spec.Rules[0]
	to := rule.HTTP.Paths[0].Backend.Service
	if service.Port != 443 || to.Port.Name != service.Name || to.Name != "writ" {
		t.Errorf("the ingress sends to %v, and the service is %v", to, service)
	}
	if rule.Host != "writ.example.org" || way.Spec.TLS[0].Hosts[0] != rule.Host ||
		way.Spec.TLS[0].SecretName != "writ-ingress" || *way.Spec.IngressClassName != "nginx" {
		t.Errorf("the ingress is %s", text(t, way))
	}
}

// TestChartValues checks what other values change.
func TestChartValues(t *testing.T) {
	objects := render(t, "guard", `{image: "registry.example.net/writ:v2", replicas: 1, publicUrl: "https://w.example.net",
		imagePullSecrets: [{name: registry}], settings: {WRIT_TRUSTED_PROXIES: 10.1.2.3},
		secret: {name: keys, masterKey: m, databaseUrl: d}, resources: {limits: {memory: 2Gi}}}`)
	server := objects["Deployment/guard"].(*apps.Deployment)
	pod := server.Spec.Template.Spec
	checkServer(t, pod, map[string]string{"m": "key", "d": "url"})
	if pod.Containers[0].Image != "registry.example.net/writ:v2" || pod.ImagePullSecrets[0].Name != "registry" ||
		pod.Volumes[0].Secret.SecretName != "keys" || pod.Containers[0].Resources.Limits.Memory().String() != "2Gi" {
		t.Errorf("the pod is %s", text(t, server))
	}
	settings := objects["ConfigMap/guard"].(*core.ConfigMap).Data
	if settings["WRIT_TRUSTED_PROXIES"] != "10.1.2.3" || settings["WRIT_PUBLIC_URL"] != "https://w.example.net" ||
		settings["WRIT_ENV"] != "production" || settings["WRIT_LOG_FORMAT"] != "json" {
		t.Errorf("the settings are %v", settings)
	}
	if objects["PodDisruptionBudget/guard"] != nil {
		t.Error("the node of a single replica can never be drained")
	}
	for name, object := range objects {
		if strings.Contains(text(t, object), `"app.kubernetes.io/name":"writ"`) {
			t.Errorf("%s of the release guard selects servers of another release", name)
		}
	}
}

// TestChartNetwork checks that a list without peers admits nobody: in Kubernetes it would admit everybody.
func TestChartNetwork(t *testing.T) {
	objects := render(t, "writ", `{networkPolicy: {callers: [], metrics: [], names: [], database: [], outbound: []}}`)
	rules := objects["NetworkPolicy/writ"].(*networking.NetworkPolicy).Spec
	if len(rules.Ingress) != 0 || len(rules.Egress) != 0 || len(rules.PolicyTypes) != 2 {
		t.Errorf("without any peer: %s", text(t, objects["NetworkPolicy/writ"]))
	}
	objects = render(t, "writ", `{networkPolicy: {metrics: [], database: [{ipBlock: {cidr: 10.9.9.9/32}}], databasePort: 6432}}`)
	rules = objects["NetworkPolicy/writ"].(*networking.NetworkPolicy).Spec
	if len(rules.Ingress) != 1 || len(rules.Ingress[0].From) != 2 || rules.Egress[1].Ports[0].Port.IntValue() != 6432 ||
		rules.Egress[1].To[0].IPBlock.CIDR != "10.9.9.9/32" {
		t.Errorf("with other peers: %s", text(t, objects["NetworkPolicy/writ"]))
	}
	if render(t, "writ", `{networkPolicy: {enabled: false}}`)["NetworkPolicy/writ"] != nil {
		t.Error("the network policy cannot be left out")
	}
}

// TestChartRefuses checks that values which are misspelled, or would put a secret where others read it, make nothing.
func TestChartRefuses(t *testing.T) {
	refused := map[string]string{
		`{replica: 3}`:                                "replica",
		`{replicas: 0}`:                               "replicas",
		`{publicUrl: "http://writ.example.org"}`:      "publicUrl",
		`{ingress: {enabled: true}}`:                  "tlsSecretName",
		`{secret: {name: ""}}`:                        "name",
		`{settings: {WRIT_ENV: development}}`:         "WRIT_ENV",
		`{settings: {WRIT_MASTER_KEY_FILE: /data}}`:   "WRIT_MASTER_KEY_FILE",
		`{settings: {WRIT_LOG_FORMAT: 1}}`:            "WRIT_LOG_FORMAT",
		`{networkPolicy: {outbound: [{}]}}`:           "outbound",
		`{networkPolicy: {outbound: [{to: []}]}}`:     "outbound",
		`{networkPolicy: {callers: [{}]}}`:            "callers",
		`{resources: {limits: {memory: null}}}`:       "memory",
		`{networkPolicy: {databasePort: "postgres"}}`: "databasePort",
	}
	secret := regexp.MustCompile("(?m)^\\| `([A-Z_]+)` or `_FILE`, secret")
	names := secret.FindAllStringSubmatch(string(read(t, "../docs/configuration.md")), -1)
	if len(names) < 10 {
		t.Fatalf("%d settings are secrets: is the page read as it is written?", len(names))
	}
	for _, name := range names {
		refused["{settings: {"+name[1]+": secret}}"] = name[1]
	}
	for values, what := range refused {
		if _, err := renderTexts(t, "writ", values); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v, want an error about %s", values, err, what)
		}
	}
}

// TestChartLint has helm's own judge look at the chart.
func TestChartLint(t *testing.T) {
	for _, m := range lint.All(chartFolder, nil, "writ", true).Messages {
		if m.Severity > support.InfoSev {
			t.Error(m)
		}
	}
}

// render makes the objects of a release as helm does.
func render(t *testing.T, name, values string) map[string]runtime.Object {
	t.Helper()
	texts, err := renderTexts(t, name, values)
	if err != nil {
		t.Fatalf("%s: %v", values, err)
	}
	objects := map[string]runtime.Object{}
	for file, rendered := range texts {
		if !strings.HasSuffix(file, ".yaml") || strings.TrimSpace(rendered) == "" {
			continue
		}
		for _, o := range decode(t, file, []byte(rendered)) {
			objects[key(o)] = o
		}
	}
	return objects
}

// renderTexts gives what helm renders, by file; the values are checked with the schema.
func renderTexts(t *testing.T, name, values string) (map[string]string, error) {
	t.Helper()
	writ, err := loader.Load(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]any{}
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		t.Fatal(err)
	}
	options := chartutil.ReleaseOptions{Name: name, Namespace: "writ", Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(writ, given, options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(writ, all)
}

func key(o runtime.Object) string {
	named, _ := o.(interface{ GetName() string })
	return o.GetObjectKind().GroupVersionKind().Kind + "/" + named.GetName()
}

func text(t *testing.T, o runtime.Object) string {
	t.Helper()
	encoded, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}
