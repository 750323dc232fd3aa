/**
 * Checks responses against the OpenAPI document: an error must have a code that the document lists for its operation.
 */

interface Described {
  readonly 'x-codes'?: readonly string[];
  readonly $ref?: string;
}

interface Description {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { responses?: Readonly<Record<string, Described>> }>>>
  >;
  readonly components: { readonly responses: Readonly<Record<string, Described>> };
}

/** Error codes of an operation by status: `409` → `version_conflict`, … */
type Codes = ReadonlyMap<string, ReadonlySet<string>>;

interface Operation {
  readonly method: string;
  readonly path: RegExp;
  readonly codes: Codes;
}

const known = new Map<string, Promise<readonly Operation[]>>();

/** An answer of a server, checked if it is an error. */
interface Answered {
  readonly method: string;
  readonly url: string;
  readonly status: number;
  readonly text: string;
}

/** Throws if an operation answers an error code that its description does not list. */
export async function requireListed({ method, url, status, text }: Answered): Promise<void> {
  const { origin, pathname } = new URL(url);
  if (status < 400 || !text.startsWith('{"error"') || !/^\/(api|auth|blobs)\//.test(pathname)) return;
  const { code } = (JSON.parse(text) as { error: { code: string } }).error;
  // This code means that no operation has answered.
  if (code === 'route_not_found') return;
  const operations = await operationsOf(origin);
  const asked = method === 'HEAD' ? 'GET' : method;
  const found = operations.find((one) => one.method === asked && one.path.test(pathname));
  if (found === undefined || found.codes.get(String(status))?.has(code)) return;
  throw new Error(`the OpenAPI document does not list ${status} ${code} for ${method} ${pathname}`);
}

function operationsOf(origin: string): Promise<readonly Operation[]> {
  let operations = known.get(origin);
  if (operations === undefined) {
    operations = readOperations(origin);
    // After a failure, the next caller reads the document again.
    operations.catch(() => known.delete(origin));
    known.set(origin, operations);
  }
  return operations;
}

async function readOperations(origin: string): Promise<readonly Operation[]> {
  const response = await fetch(`${origin}/api/v1/openapi.json`);
  const { paths, components } = (await response.json()) as Description;
  const codesOf = ({ $ref, ...response }: Described) =>
    ($ref === undefined ? response : components.responses[$ref.split('/').at(-1) as string])?.['x-codes'] ?? [];
  return Object.entries(paths)
    .sort(([a], [b]) => parameters(a) - parameters(b))
    .flatMap(([path, item]) =>
      Object.entries(item).map(([method, { responses = {} }]) => ({
        method: method.toUpperCase(),
        path: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`),
        codes: new Map(Object.entries(responses).map(([status, one]) => [status, new Set(codesOf(one))])),
      })),
    );
}

/** Returns the sort key of a path. Paths with fewer parameters come first. */
function parameters(path: string): number {
  return path.split('{').length;
}
