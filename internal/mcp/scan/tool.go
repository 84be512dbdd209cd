package scan

import (
	"strings"

	"writ/internal/intent/grounding"
	"writ/internal/mcp/definition"
	"writ/internal/toolclass"
)

// toolFacts is what is known of a tool besides its texts.
type toolFacts struct {
	words      []string // of its name
	class      toolclass.Class
	effect     grounding.Class
	parameters []string
	names      map[string]bool // of parameters

	// aboutConversations is true of tools that have a reason to want conversations and prompts.
	aboutConversations bool
	aboutSecrets       bool
	aboutCredentials   bool            // it has a reason to ask for them
	around             map[string]bool // words of the names of tool and server
}

// Words of names.
var (
	conversationWords = toolclass.NewSet("conversation conversations chat chats prompt prompts message messages assistant assistants agent agents llm completion completions transcript transcripts memory memories summarize summary dialog dialogue thread threads session sessions model models persona eval evals finetune thinking reasoning thought thoughts trace traces")
	secretWords       = toolclass.NewSet("secret secrets password passwords passwd credential credentials vault login signin auth authenticate authentication token tokens key keys keychain connect connection register signup account encrypt decrypt sign verify hash otp mfa cert certificate jwt ssh session unlock")
	credentialWords   = toolclass.NewSet("secret secrets password passwords passwd credential credentials vault login signin auth authenticate authentication token tokens key keys keychain otp mfa jwt ssh unlock connect signup dlp")
	commandNames      = toolclass.NewSet("shell bash exec eval powershell pwsh subprocess")
	secretNames       = toolclass.NewSet("password passwd passphrase apikey credential credentials secret")
)

func newToolFacts(server string, t *definition.Tool) *toolFacts {
	words := toolclass.Words(t.Name)
	around := append(toolclass.Words(server), words...)
	return &toolFacts{
		names:              map[string]bool{},
		around:             toolclass.NewSet(strings.Join(around, " ")),
		words:              words,
		class:              toolclass.Of(server, t.Name),
		effect:             toolclass.Effect(server, t.Name),
		aboutConversations: conversationWords.HasAny(around),
		aboutSecrets:       secretWords.HasAny(around),
		aboutCredentials:   credentialWords.HasAny(around),
	}
}

// outNames are names of parameters that carry out what the model knows. A space stands for every separator.
var outNames = newPhrases(
	"conversation history", "chat history", "message history", "conversation", "conversation context", "chat log",
	"chat context", "full conversation", "conversation so far", "conversation log", "system prompt",
	"system message", "system instructions", "developer prompt", "chain of thought", "full context", "entire context",
	"context dump", "context window", "llm context", "model context", "agent context", "previous messages",
	"prior messages", "user messages", "all messages", "message log", "raw prompt", "original prompt",
	"user prompt history", "prompt history", "env vars", "environment variables", "env dump", "process env",
	"environment dump", "tool list", "tools list", "available tools", "all tools", "tool outputs",
	"previous tool results", "tool results", "session transcript", "transcript so far", "side note", "sidenote",
	"hidden note", "memory dump", "model reasoning", "reasoning trace", "internal reasoning", "scratchpad",
	"thought process", "ssh key contents", "ssh private key", "aws credentials", "user credentials", "user password",
	"user secrets", "all secrets", "local files", "file contents of ssh", "keychain dump", "browser cookies",
	"session cookies", "exfil", "exfiltrate", "stolen data", "system context", "assistant memory", "agent memory",
	"user history", "connected servers", "mcp servers", "mcp config",
)

func newPhrases(list ...string) map[string]bool {
	set := map[string]bool{}
	for _, phrase := range list {
		set[phrase] = true
	}
	return set
}

// judgeParameter judges the name of a parameter.
func (s *scanner) judgeParameter(name string) {
	words := s.nameWords(name)
	joined := strings.Join(words, " ")
	switch {
	case (outNames[joined] || wantsTalk(words)) && !s.tool.aboutConversations, s.tool.wantsForeignSecret(words):
		s.foundHere(exfiltrationParameter, 0, name)
	case secretNames.HasAny(words) && !s.tool.aboutSecrets, joined == "api key", joined == "private key":
		s.foundHere(secretParameter, 0, name)
	}
	if commandNames.HasAny(words) && !s.tool.runs() {
		s.foundHere(toolMisnamed, 0, name)
	}
}

// nameWords are the words of a name as they are compared, whatever letters it is written in.
func (s *scanner) nameWords(name string) []string {
	var b strings.Builder
	for _, r := range name {
		switch folded := fold(r); {
		case folded == unspaced:
		case folded < 0x80 && r < 0x80:
			b.WriteRune(r) // capitals separate words
		default:
			b.WriteRune(folded)
		}
	}
	s.work += len(name)
	return toolclass.Words(b.String())
}

// runs reports whether the name says that the tool runs commands.
func (f *toolFacts) runs() bool {
	return f.class == toolclass.Shell || commandNames.HasAny(f.words) || runWords.HasAny(f.words)
}

var runWords = toolclass.NewSet("run execute command commands terminal script code process spawn sandbox container job build test console")

// broadDefaults are values of parameters that reach everything.
var broadDefaults = newPhrases("/", "~", "/*", "C:\\", "c:\\", "/root", "/etc", "file:///", "~/", "/home", "**/*",
	"0.0.0.0/0")

func (s *scanner) judgeDefault(value string) {
	if broadDefaults[value] && s.tool.effect != grounding.Read && s.tool.effect != "" ||
		strings.HasPrefix(value, "~/.ssh") ||
		strings.HasPrefix(value, "/etc/shadow") || strings.HasPrefix(value, "/etc/passwd") {
		s.foundHere(toolBroad, 0, value)
	}
}
