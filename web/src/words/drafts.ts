/** Words of new policies, and of the proposals of plugins. */
export const drafts = {
  newTitle: "New policy",
  from: { words: "From words", agent: "From what an agent did", template: "From a template", text: "Write it" },
  fromLabel: "How to begin",
  name: "Name",
  nameHint: "Empty: a name is made.",
  description: "What may the agent do?",
  descriptionHint: "In your words. Without a model, words like refund, inbox, shell or search choose a template.",
  draftIt: "Draft it",
  draftMean: "A draft has no effect until somebody activates it.",
  suggestMean:
    "The narrowest policy that would have allowed what an agent did and policies alone allowed. Values that may be secrets or about people are left out.",
  whichAgent: "Agent",
  whichDays: "Days back",
  suggestIt: "Suggest it",
  drafted: "Drafted. Read it before you activate it.",
  suggested: (rules: number, calls: string) =>
    `Suggested: ${rules === 1 ? "1 rule" : `${rules} rules`} from ${calls} calls. Read them before you activate it.`,
  openDraft: "Open the draft",
  where: "Where it comes from",
  evidence: "The calls behind each rule",
  leftOutCalls: "Calls that ran and are not allowed by it",
  seenTimes: (n: string) => (n === "1" ? "1 call" : `${n} calls`),
  cutCalls: "There were more calls; only the newest were examined.",
  testResults: "Its tests",
  useTemplate: "Begin with it",
  create: "Save as a draft",
  starter: `version: v1
name: my-policy
default: deny
rules:
  - id: reads
    effect: allow
    tools: ["web.search"]
`,
  testStarter: `policy: policy.yaml
tests:
`,
};

export const proposals = {
  proposal: "Proposal",
  proposedBy: "Proposed by",
  viaKey: "with the key",
  reason: "Reason",
  hash: "Hash",
  says: "What it says",
  saysMean: "Sentences made from the profile by this server, not written by the plugin.",
  wholeProfile: "The whole profile",
  proposalStates: {
    open: "Open",
    superseded: "Replaced",
    withdrawn: "Turned away",
    confirmed: "Confirmed",
  } as Record<string, string>,
  inForce: "in force now",
  confirm: "Confirm…",
  confirmTitle: (name: string) => `Put ${name} in force?`,
  confirmMeans:
    "It judges the calls of every agent from the next one on, and replaces the active profile. You confirm exactly the text with this hash.",
  confirmAct: "Confirm",
  confirmed: "It is in force. Calls are judged by it from now on.",
  confirmWord: "confirm",
  turnAway: "Turn away…",
  turnAwayTitle: (name: string) => `Turn ${name} away?`,
  turnAwayMeans: "It never comes into force. Its draft goes with it; the plugin may propose again.",
  turnAwayAct: "Turn away",
  turnedAway: "It was turned away.",
  replaced: "Another proposal has replaced it. Read that one.",
  noProposals: "No proposal yet.",
  noProposalsHelp: "Plugins of coding agents propose profiles with /armor commands.",
  noProposal: "There is no such proposal here.",
  noProposalHelp: "It may belong to another organization.",
  toProposals: "All proposals",
  asPolicy: "Replay and compare it as a policy",
};
