import fc from "fast-check";
import { expect, test } from "vitest";
import { hasRedactionMark, redact } from "./index.ts";

// Samples are put together at run time, so that no scanner takes this file for a leak.
const mixed = (length: number) => "a1B2c3D4e5F6g7H8i9J0".repeat(10).slice(0, length);
const pem = (body: string) => `-----BEGIN RSA ${"PRIVATE"} KEY-----\n${body}`;
const base64Lines = `${mixed(64)}\n${mixed(64)}\n${mixed(20)}==\n`;

const secrets: readonly (readonly [string, string, string, string])[] = [
  ["bearer header", "Authorization: Bearer ", mixed(30), "\nAccept: */*"],
  ["basic header as JSON", '{"Authorization":"Basic ', "dXNlcjpwYXNzd29yZA==", '"}'],
  ["proxy header", "Proxy-Authorization: ", mixed(20), ""],
  ["bearer alone", "curl with bearer ", mixed(24), " failed"],
  ["cookie", "Cookie: theme=dark; sid=", mixed(24), "; lang=en"],
  ["AWS key id", "key ", `AKIA${"A1B2C3D4E5F6G7H8"}`, " used"],
  ["AWS secret", "AWS_SECRET_ACCESS_KEY=", mixed(40), "\n"],
  ["GitHub", "push with ", `ghp_${mixed(36)}`, "."],
  ["GitHub fine-grained", "", `github_pat_${mixed(40)}`, ""],
  ["Slack", "", `xoxb-${"123456789012"}-${mixed(20)}`, ""],
  ["npm", "//registry/:_authToken=", `npm_${mixed(36)}`, ""],
  ["Hugging Face", "", `hf_${mixed(34)}`, ""],
  ["Anthropic", "", `sk-ant-api03-${mixed(40)}`, ""],
  ["OpenAI project", "key=", `sk-proj-${mixed(48)}`, ""],
  ["OpenAI", "", `sk-${mixed(48)}`, ""],
  ["Google", "?key=", `AIza${mixed(35)}`, "&q=1"],
  ["Stripe", "", `sk_live_${mixed(24)}`, ""],
  ["JWT", "jwt ", `eyJ${mixed(20)}.eyJ${mixed(30)}.${mixed(43)}`, " end"],
  ["PEM block", "a\n", `${pem(base64Lines)}-----END RSA ${"PRIVATE"} KEY-----`, "\nb"],
  [
    "PEM block in JSON",
    '{"key":"',
    `${pem(base64Lines).replaceAll("\n", "\\n")}-----END RSA ${"PRIVATE"} KEY-----`,
    '"}',
  ],
  ["PEM block cut off", "a\n", pem(base64Lines), "; then prose goes on here"],
  ["URL password", "postgres://app:", "hunter2!", "@db:5432/app"],
  ["URL token", "https://", mixed(40), "@github.com/o/r"],
  ["password=", "password=", "hunter2-long", " next"],
  ["passwd:", "passwd: ", "s3cr3t!", "\n"],
  ["DB_PASSWORD", "DB_PASSWORD=", "correcthorse", "\n"],
  ["JSON api_key", '{"api_key":"', "abcd-efgh", '","n":1}'],
  ["JSON password of words", '{"password": "', "correct horse battery", '"}'],
  ["escaped JSON", '"{\\"api_key\\": \\"', mixed(16), '\\"}"'],
  ["quoted yaml", "api_key: '", mixed(16), "'"],
  ["client secret", "clientSecret = '", mixed(16), "';"],
  ["query", "?access_token=", mixed(16), "&x=1"],
  ["connection string", "Server=db;Password=", "hunter2long", ";Db=a"],
  ["Azure", "AccountName=a;AccountKey=", `${mixed(40)}==`, ";E=c"],
  ["flag", "mysql --password ", "hunter2long", " db"],
  ["an assignment in a refused value", 'password: token="', "abc-123-def-456", '"'],
  ["the other quote within", '{"password":"', "it's 1 `long` secret", '"}'],
  ["header", "X-Api-Key: ", mixed(20), "\n"],
];

test.each(secrets)("masks %s and nothing around it", (_, before, secret, after) => {
  const result = redact(before + secret + after);
  expect(result.text).not.toContain(secret);
  expect(result.text).toBe(`${before}[redacted:${result.kinds[0]}]${after}`);
  expect(result).toMatchObject({ count: 1, kinds: [expect.stringMatching(/^[a-z0-9-]{1,40}$/)] });
  expect(hasRedactionMark(result.text)).toBe(true);
  expect(redact(result.text)).toEqual({ text: result.text, count: 0, kinds: [] });
});

const traps = [
  "id 0190b5a4-7c1e-7d3a-9b1f-2f6a3c4d5e6f",
  "commit 7e9f525a1b2c3d4e5f60718293a4b5c6d7e8f901",
  "order ORD-2024-0117 payment pay_8842 gw_evt_20240117",
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==",
  '"integrity": "sha512-9Xb1p0mJm2v0sK7m3k8o0Qe2b3h5m6n7p8q9r0s1t2u3v4w5x6y7z8A9B0C1D2E3F4G5H6=="',
  "password = getPassword()",
  "password = process.env.PW",
  "token = os.environ['TOKEN']",
  "const token: string = await next();",
  "connect(password=password, api_key=api_key)",
  "Password: ",
  "password: please enter it",
  'password: "Enter your password"',
  "max_tokens: 4096, completion_token: 12, token_count=500",
  "secret: false",
  "secretName: my-secret-1",
  "next_page_token: abc123def456",
  "The token expired and the secret is safe.",
  "Bearer authentication is required",
  "Authorization: Bearer <token>",
  `headers: { Authorization: \`Bearer $${"{token}"}\` }`,
  "task-with-a-very-long-kebab-case-name-2024",
  "sk-learn-pipeline-with-a-long-name",
  "https://example.com:8080/path@1.2.3 and mailto:someone@example.com",
  `API_KEY=$${"{API_KEY}"} PASSWORD=$PW TOKEN=<your token>`,
  "see -----BEGIN PRIVATE KEY----- for the header of a key",
  "the keyword arguments: primary_key=true, foreign_key=user_id",
  "支付密码：请输入 password 字段",
];

test.each(traps)("leaves %j alone", (text) => {
  expect(redact(text)).toEqual({ text, count: 0, kinds: [] });
});

test("text of words, numbers and code signs is never touched", () => {
  const part = fc.constantFrom(
    "order",
    "the",
    "log",
    "ORD-2024-0117",
    "42",
    "=",
    ":",
    "(",
    ")",
    "{",
    "}",
    "\n",
    '"',
    "-",
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 60 }), (parts) => {
      const text = parts.join(" ");
      expect(redact(text).text).toBe(text);
    }),
  );
});

test("is idempotent on any mixture of secrets and fragments", () => {
  const samples = secrets.map(([, before, secret, after]) => before + secret + after);
  const fragment = fc.oneof(
    fc.constantFrom(
      ...samples,
      "password",
      "=",
      '"',
      "'",
      "://",
      "@",
      ":",
      "Bearer ",
      "[redacted:",
      "]",
      "-----BEGIN ",
    ),
    fc.string({ maxLength: 8 }),
  );
  fc.assert(
    fc.property(fc.array(fragment, { maxLength: 8 }), (fragments) => {
      const once = redact(fragments.join("")).text;
      expect(redact(once).text).toBe(once);
    }),
    { numRuns: 400 },
  );
});

test.each([
  "a",
  "eyJ",
  "eyJabcdef.",
  "-----BEGIN PRIVATE KEY-----",
  `-----BEGIN PRIVATE KEY-----\n${"A".repeat(64)}\n`,
  "sk-",
  "password",
  "password_",
  "token_a_b_c",
  'password:"',
  'password:"\\',
  "secret=' ",
  'password:"password: ',
  "password: \\",
  "a://",
  "a://b:c",
  "bearer ",
  "authorization:",
  "cookie: a=",
  "--api-key ",
  "hooks.slack.com/services/",
  "[redacted:",
  "\\n",
  " ",
])(
  "takes linear time on 300 KB of %j",
  (unit) => {
    const text = unit.repeat(Math.ceil(300_000 / unit.length));
    expect(redact(text).text).not.toBe("");
  },
  // A search that is quadratic takes minutes, a cubic one days.
  60_000,
);
