package scan

import (
	"strings"

	"github.com/go-json-experiment/json"

	"writ/internal/mcp/definition"
	"writ/internal/toolclass"
)

// annotations are the hints of a tool about itself.
type annotations struct {
	ReadOnly    *bool `json:"readOnlyHint"`
	Destructive *bool `json:"destructiveHint"`
	Idempotent  *bool `json:"idempotentHint"`
	OpenWorld   *bool `json:"openWorldHint"`
}

// Words that say what a tool does. Verbs of names count less where they mean several things: format_text deletes
// nothing, and drop_column does.
var (
	deletingVerbs  = toolclass.NewSet("delete remove destroy purge truncate wipe erase uninstall revoke kill terminate drop")
	changingVerbs  = toolclass.NewSet("send write update insert upload overwrite rename deploy install pay transfer grant create publish set put patch upsert append merge approve cancel refund charge rotate disable enable execute restart stop start shutdown reboot archive assign book")
	ambiguousVerbs = toolclass.NewSet("format reset clear move edit post add apply run convert sort close open save replace sync drop kill stop start set put")
	reachingVerbs  = toolclass.NewSet("send upload post publish browse email tweet webhook mail notify")
	askingVerbs    = toolclass.NewSet("fetch download http crawl scrape request navigate search")
	repeatingVerbs = toolclass.NewSet("send append increment charge pay transfer post publish enqueue notify email tweet refund order book")
	readingVerbs   = toolclass.NewSet("get list read search view check find lookup describe show query count preview inspect status fetch calculate convert validate lint format translate summarize")

	deleting  = toolclass.NewSet("deletes delete removes erases erase wipes wipe drops destroys destroy purges purge truncates truncate overwrites overwrite uninstalls kills terminates")
	certainly = toolclass.NewSet("permanently irreversibly irrecoverably")
	changing  = toolclass.NewSet("sends send uploads upload posts post publishes publish writes write executes execute installs install transfers transfer modifies modify updates update creates create inserts insert renames rename moves deploys deploy pays pay charges charge books cancels cancel grants revokes restarts saves stores registers approves archives appends rotates disables triggers trigger")
	reaching  = toolclass.NewSet("internet website websites web url urls http https webhook webhooks email emails e-mail sms tweet slack discord telegram external third-party remote upload uploads downloads public online smtp")
	harmless  = toolclass.NewSet("read-only readonly preview previews simulate simulates simulated simulation dry-run plan plans estimate estimates would in-memory locally cached temporary")
	pure      = toolclass.NewSet("text texts string strings array arrays values whitespace duplicates characters accents tags html markdown")
	repeating = toolclass.NewSet("each again another new duplicate duplicates additional increments appends charges sends every twice")
	switches  = toolclass.NewSet("overwrite force recursive delete purge destroy truncate wipe")
)

// judgeTool judges what name, schema and annotations of a tool say together.
func (s *scanner) judgeTool(t *definition.Tool) {
	if s.tool.class == toolclass.Shell {
		s.foundHere(toolDangerous, 0, t.Name)
	}
	reads := len(s.tool.words) > 0 && readingVerbs[s.tool.words[0]]
	if !reads && len(t.Annotations) == 0 {
		return
	}
	says := newClaims(s.tool, t)
	s.work += maxClaimWords
	if reads && says.main == mainDeletes {
		s.foundHere(toolMisnamed, 0, t.Description)
	}
	if len(t.Annotations) == 0 {
		return
	}
	var hints annotations
	if json.Unmarshal(t.Annotations, &hints) != nil {
		return
	}
	kept := len(s.place)
	s.place = append(s.place, member("annotations"))
	if severity := says.contradiction(hints); severity > 0 {
		s.foundHere(annotationContradiction, severity, string(t.Annotations))
	}
	s.place = s.place[:kept]
}

// What the first words of a description say that the tool does.
const (
	mainOther = iota
	mainChanges
	mainDeletes
)

// claims are how strongly a tool says, by its name, description and parameters, what it does.
type claims struct {
	runs                               bool
	main                               int
	deletes, changes, reaches, repeats int
	harmless, pure                     bool // pure: it removes something from a value that it is given
}

// sure is how strong claims must be to contradict an annotation.
const sure = 2

// maxClaimWords are the words of a description that are read for claims: what a tool does stands in front.
const maxClaimWords = 60

// maxPureWords are the words in which a description says that the tool works on a value.
const maxPureWords = 10

func newClaims(f *toolFacts, t *definition.Tool) (c claims) {
	c.runs = f.class == toolclass.Shell
	c.name(f.words)
	fields := strings.Fields(t.Description[:min(len(t.Description), 8*maxClaimWords)])
	begins, first := true, true
	for i, field := range fields {
		word := strings.ToLower(strings.Trim(field, ".,:;!?()`\"'"))
		c.harmless = c.harmless || i < maxClaimWords/2 && harmless[word]
		c.pure = c.pure || i < maxPureWords && pure[word] && (strings.HasPrefix(fields[0], "Remove") ||
			strings.HasPrefix(fields[0], "Delete") || strings.HasPrefix(fields[0], "Replace"))
		c.word(word, begins, first)
		if certainly[word] {
			continue // the verb follows
		}
		first = false
		begins = strings.ContainsAny(field[len(field)-1:], ".;!") || word == "and" || word == "then" || word == "or" ||
			word == "also"
	}
	for _, name := range f.parameters {
		words := toolclass.Words(name)
		if switches.HasAny(words) && len(words) <= 2 {
			c.deletes++
		}
		if addressNames.HasAny(words) {
			c.reaches++
		}
	}
	return c
}

// name reads the verb of a name.
func (c *claims) name(words []string) {
	if len(words) == 0 {
		return
	}
	weight := sure
	if ambiguousVerbs[words[0]] || len(words) == 1 {
		weight = 1
	}
	add := func(to *int, of toolclass.Set) {
		if of[words[0]] {
			*to += weight
		}
	}
	add(&c.deletes, deletingVerbs)
	add(&c.changes, changingVerbs)
	add(&c.changes, deletingVerbs)
	add(&c.reaches, reachingVerbs)
	add(&c.repeats, repeatingVerbs)
	if askingVerbs[words[0]] {
		c.reaches++
	}
}

// word reads a word of the description; begins: it begins a sentence or one of its parts, first: the whole text.
func (c *claims) word(word string, begins, first bool) {
	weight := 0
	switch {
	case first:
		weight = sure
	case begins:
		weight = 1
	}
	if deleting[word] {
		c.deletes += weight
		c.changes += weight
		if first {
			c.main = mainDeletes
		}
	}
	if changing[word] {
		c.changes += weight
		if first {
			c.main = mainChanges
		}
	}
	if certainly[word] {
		c.deletes++
		c.changes++
	}
	if reaching[word] {
		c.reaches++
	}
	if repeating[word] {
		c.repeats++
	}
}

// contradiction is how badly annotations contradict the rest of a tool; 0: they do not.
func (c claims) contradiction(hints annotations) Severity {
	is := func(hint *bool, value bool) bool { return hint != nil && *hint == value }
	if c.harmless && !c.runs {
		c.deletes, c.changes = c.deletes-sure, c.changes-sure
	}
	if c.pure && !c.runs {
		c.deletes, c.changes = 0, 0
	}
	switch {
	case is(hints.ReadOnly, true) && (c.deletes >= sure || c.runs):
		return High
	case is(hints.ReadOnly, true) && (c.changes >= sure || is(hints.Destructive, true)):
		return Medium
	case is(hints.Destructive, false) && (c.deletes >= sure || c.runs):
		return Medium
	case is(hints.OpenWorld, false) && c.reaches >= sure:
		return Medium
	case is(hints.Idempotent, true) && c.repeats > sure:
		return Medium
	}
	return 0
}

var addressNames = toolclass.NewSet("url uri webhook endpoint callback")

// Words of names of parameters, of which one of each kind together ask for what the model knows.
var (
	talkNames  = toolclass.NewSet("conversation conversations chat dialog dialogue transcript prompt prompts messages reasoning thoughts thinking context memory scratchpad turns instructions")
	talkParts  = toolclass.NewSet("full entire whole complete raw verbatim history log logs dump so past previous prior earlier system developer hidden internal llm model assistant agent original all last recent")
	ownerNames = toolclass.NewSet("ssh aws gcp azure gcloud github gitlab browser keychain wallet bank card credit seed mnemonic recovery root admin master os machine user users env environment shell system openai anthropic slack stripe host")
	secretName = toolclass.NewSet("key keys token tokens credential credentials secret secrets password passwords passwd cookie cookies phrase pin cvv cvc variables vars env dump pem")
)

// wantsTalk reports whether a name asks for a conversation, a prompt or what a model thinks, not for a part that the
// tool is about.
func wantsTalk(words []string) bool {
	return len(words) >= 2 && talkNames.HasAny(words) && talkParts.HasAny(words)
}

// wantsForeignSecret reports whether a name asks for a secret of something that the tool is not about.
func (f *toolFacts) wantsForeignSecret(words []string) bool {
	if f.aboutSecrets || len(words) < 2 || !ownerNames.HasAny(words) || !secretName.HasAny(words) {
		return false
	}
	for _, word := range words {
		if ownerNames[word] && f.around[word] {
			return false
		}
	}
	return ownerNames.HasAny(words[:len(words)-1])
}

// sinkNames are names of parameters to which data goes.
var sinkNames = toolclass.NewSet("callback webhook notify report telemetry sink mirror copy bcc cc forward relay collector beacon tracking log audit exfil destination recipient recipients endpoint upload backup analytics")

// judgeSink reports a parameter that sends data to an address which the server chose.
func (s *scanner) judgeSink(parameter, value string) {
	at := strings.Index(value, "://")
	mail := strings.IndexByte(value, '@')
	if at < 0 && (mail <= 0 || !strings.Contains(value[mail:], ".")) || strings.ContainsAny(value, " ") {
		return
	}
	if at >= 0 {
		host, _, _ := strings.Cut(value[at+3:], "/")
		host, _, _ = strings.Cut(host, ":")
		if isLocal(host) {
			return
		}
	}
	if sinkNames.HasAny(toolclass.Words(parameter)) {
		s.foundHere(exfiltrationParameter, 0, value)
	}
}
