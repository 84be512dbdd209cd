// Texts as an attacker would send them in every field that an agent controls.
export const corpus = [
  `<script>window.__xss=1</script>`,
  `<img src=x onerror="window.__xss=2">`,
  `"><svg onload=window.__xss=3>`,
  `javascript:window.__xss=4//`,
  `'-window.__xss=5-'`,
  `\${window.__xss=6}{{constructor.constructor('window.__xss=7')()}}`,
  `</title></textarea></script><script>window.__xss=8</script>`,
  `invoice\u202efdp.exe\u200b\u2066`,
  `https://аpple.com/<b>x</b>`,
  `${"A".repeat(400)}`,
];

/** evil is the n-th text, with a name that tests can find. */
export const evil = (n) => `evil${n} ${corpus[n % corpus.length]}`;

/** Texts that imitate what stands around them: members of JSON, and another number. */
export const forgeries = [
  `landlord"\namount: 900\nnote: "ok`,
  `account 1\ufe0f2\u2800\u00a0 and${" ".repeat(300)}amount: 1`,
];
