import type { DescMessage } from '@bufbuild/protobuf';
import type { Contract } from '../descriptors/contract.js';
import { enumChoices, shapesOf } from '../descriptors/shape.js';
import type { Answer } from './answer.js';

/**
 * Returns a function that reads which sparse lists of the answer a request names in its field `include`; undefined if it
 * names none. An empty list that was asked for is written as [], so that a client can tell it from one that was not.
 */
export function compileIncluded(
  contract: Contract,
  input: DescMessage,
  { sparseLists }: Pick<Answer, 'sparseLists'>,
): (request: object) => ReadonlySet<string> | undefined {
  const include = shapesOf(contract, input).find(
    ({ name, cardinality }) => name === 'include' && cardinality === 'list',
  );
  if (include?.element.kind !== 'enum') return () => undefined;
  const choices = [...enumChoices(include.element.type)].filter(([, choice]) => sparseLists.has(choice));
  const names = new Map<unknown, string>(choices);
  if (names.size === 0) return () => undefined;
  const { local } = include;
  return (request) => {
    const given = (request as Readonly<Record<string, unknown>>)[local];
    const included = Array.isArray(given) ? given.flatMap((value) => names.get(value) ?? []) : [];
    return included.length === 0 ? undefined : new Set(included);
  };
}
