import type { DescMessage } from '@bufbuild/protobuf';
import { describe, expect, test } from '@jest/globals';
import { loadContract } from '../src/descriptors/contract.js';
import { createPlans } from '../src/request/plan.js';
import { createRoutes } from '../src/routes.js';

interface Generated {
  create(): object;
}

async function generated(message: DescMessage): Promise<Generated> {
  const path = message.file.name.replace(/^commonplace\//, '');
  const module = (await import(`@commonplace/proto/${path}.js`)) as Record<string, Generated>;
  return module[message.name] as Generated;
}

const contract = loadContract();
const method = (service: string, name: string) => {
  const found = contract.services.find(({ typeName }) => typeName === service);
  const rpc = found?.methods.find((each) => each.name === name);
  if (rpc === undefined) throw new Error(`no ${service}.${name}`);
  return rpc;
};

describe('the contract', () => {
  test('has the options of a method', () => {
    const create = method('commonplace.resources.v1.ResourceService', 'CreateResource');
    expect(contract.access(create)).toMatchObject({ scope: 'resource:write', success: 201 });
    expect(contract.http(create)).toMatchObject({ post: '/api/v1/resources', body: '*' });
  });

  test('has none for a method that is not on HTTP', () => {
    const lookUp = method('commonplace.tenancy.v1.DirectoryService', 'LookUpWorkspace');
    expect(contract.access(lookUp)).toBeUndefined();
    expect(contract.http(lookUp)).toBeUndefined();
  });

  test('has the rules of a field, and empty ones for a field without rules', () => {
    const { fields } = method('commonplace.search.v1.SearchService', 'Search').input;
    const rules = (name: string) => {
      const field = fields.find((each) => each.name === name);
      return field === undefined ? undefined : contract.rules(field);
    };
    expect(rules('alpha')).toMatchObject({ min: 0, max: 1, required: false });
    expect(rules('metadata')).toMatchObject({ json: 'JSON_OBJECT' });
    expect(rules('include_archived')).toMatchObject({ min: undefined, json: 'JSON_UNSPECIFIED', in: [] });
  });

  test('has the comments', () => {
    const get = method('commonplace.resources.v1.ResourceService', 'GetResource');
    expect(contract.comment(get)).toBe('Reads one resource that the caller may see.');
    const path = get.output.fields.find(({ name }) => name === 'path');
    expect(path === undefined ? '' : contract.comment(path)).toMatch(/^The visible ancestors .*\. In a list only with/);
  });
});

describe('the plans of requests', () => {
  const plans = createPlans(contract);
  const inputs = new Map(createRoutes(contract).map(({ descriptor }) => [descriptor.input.typeName, descriptor.input]));

  test.each([...inputs.values()].map((input) => [input.typeName, input] as const))(
    '%s is created as the generated code creates it',
    async (_, input) => {
      const expected = (await generated(input)).create();
      const created = plans(input).create();
      expect(created).toStrictEqual(expected);
      expect(Object.keys(created)).toEqual(Object.keys(expected));
    },
  );
});
