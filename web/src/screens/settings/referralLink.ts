/** codeOf is a code as the server writes it: people paste it with spaces, or in small letters. */
export const codeOf = (typed: string) => typed.replace(/\s/g, "").toUpperCase();

/** linkOf opens the page on which another organization claims the code. */
export const linkOf = (origin: string, code: string) =>
  `${origin}/ui/settings/referrals?code=${encodeURIComponent(code)}`;
