import type { RecordedExample } from '@commonplace/platform/api-document';

/** A request in one language, as in the extension `x-codeSamples`. */
interface CodeSample {
  readonly lang: 'Shell' | 'TypeScript' | 'Python';
  readonly label: string;
  readonly source: string;
}

/** Facts about a sample besides its path and body. */
export interface SampleOptions {
  readonly method: string;
  /** `key`: an API key; `session`: the browser session that `/auth/sign-in` sets; `none`: nothing. */
  readonly credential: 'key' | 'session' | 'none';
}

/**
 * Renders a recorded request in curl, TypeScript and Python. The samples read the server's URL and the key from
 * variables.
 */
export function codeSamples({ request }: RecordedExample, options: SampleOptions): CodeSample[] {
  return [
    { lang: 'Shell', label: 'curl', source: curl(request, options) },
    { lang: 'TypeScript', label: 'TypeScript', source: typeScript(request, options) },
    { lang: 'Python', label: 'Python', source: python(request, options) },
  ];
}

type Request = RecordedExample['request'];

const isJson = (body: unknown): boolean => body !== undefined && typeof body !== 'string';

function curl({ path, body }: Request, { method, credential }: SampleOptions): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const parts = [`curl ${method === 'GET' ? '' : `-X ${method} `}"$COMMONPLACE_URL${path}"`];
  if (credential === 'key') parts.push('-H "Authorization: Bearer $COMMONPLACE_KEY"');
  if (credential === 'session') {
    parts.push('-b cookies.txt', ...(method === 'GET' ? [] : ['-H "X-CSRF-Token: $CSRF_TOKEN"']));
  }
  if (isJson(body)) parts.push(`--json ${quoted(JSON.stringify(body))}`);
  else if (body !== undefined) parts.push(`--data-binary ${quoted(String(body))}`);
  return parts.join(' \\\n  ');
}

function typeScript({ path, body }: Request, { method, credential }: SampleOptions): string {
  const headers = [
    ...(credential === 'key' ? [`Authorization: \`Bearer \${process.env.COMMONPLACE_KEY}\`,`] : []),
    ...(credential === 'session' ? ['Cookie: cookie,'] : []),
    ...(credential === 'session' && method !== 'GET' ? ["'X-CSRF-Token': csrfToken,"] : []),
    ...(isJson(body) ? ["'Content-Type': 'application/json',"] : []),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(headers.length === 0 ? [] : ['  headers: {', ...headers.map((line) => `    ${line}`), '  },']),
    ...(isJson(body) ? [`  body: JSON.stringify(${indented(JSON.stringify(body, null, 2))}),`] : []),
    ...(body !== undefined && !isJson(body) ? [`  body: ${JSON.stringify(body)},`] : []),
  ];
  const given = options.length === 0 ? '' : `, {\n${options.join('\n')}\n}`;
  return `const response = await fetch(\`\${process.env.COMMONPLACE_URL}${path}\`${given});\nconsole.log(response.status, await response.text());`;
}

function python({ path, body }: Request, { method, credential }: SampleOptions): string {
  const headers = [
    ...(credential === 'key' ? [`"Authorization": f"Bearer {os.environ['COMMONPLACE_KEY']}"`] : []),
    ...(credential === 'session' && method !== 'GET' ? ['"X-CSRF-Token": csrf_token'] : []),
  ];
  const given = [
    `    os.environ["COMMONPLACE_URL"] + ${JSON.stringify(path)},`,
    ...(headers.length === 0 ? [] : [`    headers={${headers.join(', ')}},`]),
    ...(credential === 'session' ? ['    cookies=cookies,'] : []),
    ...(isJson(body) ? [`    json=${indented(pythonLiteral(body), '    ')},`] : []),
    ...(body !== undefined && !isJson(body) ? [`    data=${JSON.stringify(body)},`] : []),
  ];
  const call = `response = requests.${method.toLowerCase()}(\n${given.join('\n')}\n)`;
  return `import os\nimport requests\n\n${call}\nprint(response.status_code, response.text)`;
}

function indented(text: string, by = '  '): string {
  return text.replaceAll('\n', `\n${by}`);
}

/** Renders a JSON value as Python, which differs from JSON only in three words. */
function pythonLiteral(value: unknown): string {
  const words = new Map([
    ['true', 'True'],
    ['false', 'False'],
    ['null', 'None'],
  ]);
  return JSON.stringify(value, null, 4).replace(
    /"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g,
    (part) => words.get(part) ?? part,
  );
}
