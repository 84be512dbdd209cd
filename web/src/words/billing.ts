/** Words of plans and payments. */
export const billing = {
  off: "Billing is off on this server.",
  offHelp: "There are no plans and no quotas. Its operators can turn it on: STRIPE_SECRET_KEY.",
  left: "You left before paying. Nothing was changed.",
  paying:
    "Thank you. The plan changes here as soon as the payment provider has told this server, often within a minute.",
  paid: "Thank you. The plan is paid.",
  plan: "Plan",
  free: "costs nothing",
  status: "Payment",
  statuses: {
    active: "paid",
    trialing: "on trial",
    past_due: "payment is late",
    unpaid: "not paid",
    canceled: "ended",
    incomplete: "not finished",
  } as Record<string, string>,
  renews: "Renews",
  ends: "Ends",
  manage: "Change or end the plan",
  choose: (plan: string) => `Choose ${plan}`,
  current: "Your plan",
  plans: "Plans",
  thisMonth: (month: string) => `Used in ${month}`,
  of: (used: string, quota: string | null) => (quota === null ? `${used}, no limit` : `${used} of ${quota}`),
  decisions: "Decisions",
  decisionsOver: "Past the quota. Decisions go on: they are never refused for money.",
  spans: "Spans",
  spansOver: "Used up: more are refused until next month, or until you choose a larger plan.",
  seats: "Seats",
  seatsOver: "All taken, with open invitations: nobody more can be invited.",
  quotas: (decisions: string | null, spans: string | null, seats: string | null) =>
    `${most(decisions, "decisions")} and ${most(spans, "spans")} a month, ${most(seats, "seats")}`,
  invoices: "Invoices",
  noInvoices: "No invoice yet.",
  invoice: "Invoice",
  open: "Open",
  leaving: "This opens a page of the payment provider.",
};

/** most is how many of something a plan has: "5 seats", "no limit on seats". */
function most(quota: string | null, what: string): string {
  return quota === null ? `no limit on ${what}` : `${quota} ${what}`;
}
