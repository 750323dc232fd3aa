import type { Approval } from '@commonplace/proto/agents/v1/approval.js';

/** Prefix for the names of form fields that belong to the answer to a question. */
export const ANSWER_FIELD = 'answer:';

/** A field of a question's answer. */
export interface AnswerField {
  readonly name: string;
  readonly label: string;
  readonly hint?: string | undefined;
  readonly type: 'text' | 'number' | 'boolean' | 'choice';
  readonly choices: readonly string[];
  readonly isRequired: boolean;
}

interface Property {
  readonly type?: unknown;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly enum?: unknown;
}

/** Returns the fields of a question's flat JSON Schema in the order of the schema. */
export function answerFields({ requestedSchema }: Pick<Approval, 'requestedSchema'>): AnswerField[] {
  if (requestedSchema.length === 0) return [];
  const { properties = {}, required = [] } = JSON.parse(requestedSchema.toString()) as {
    readonly properties?: Readonly<Record<string, Property>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, property]) => {
    const choices = Array.isArray(property.enum) ? property.enum.map(String) : [];
    return {
      name,
      label: typeof property.title === 'string' ? property.title : name,
      hint: typeof property.description === 'string' ? property.description : undefined,
      type: choices.length > 0 ? 'choice' : typeOf(property.type),
      choices,
      isRequired: required.includes(name),
    };
  });
}

function typeOf(type: unknown): AnswerField['type'] {
  if (type === 'boolean') return 'boolean';
  return type === 'number' || type === 'integer' ? 'number' : 'text';
}

/** Formats the input of a call for people to read and edit. */
export function inputText({ input }: Pick<Approval, 'input'>): string {
  return input.length === 0 ? '' : JSON.stringify(JSON.parse(input.toString()), undefined, 2);
}
