/** Texts as an attacker would send them. */
export const hostile = {
  script: `<script>alert(1)</script><img src=x onerror=alert(2)>`,
  bidi: "invoice\u202efdp.exe \u200bzero\u2066width",
  host: "pay at https://аpple.com/login now",
  markdown: "[click](javascript:alert(1)) ![x](https://evil.example/p.png)",
  long: "word ".repeat(800),
  unbroken: "A".repeat(300),
};
