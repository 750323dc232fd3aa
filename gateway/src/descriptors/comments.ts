import type {
  DescEnum,
  DescEnumValue,
  DescField,
  DescFile,
  DescMessage,
  DescMethod,
  DescService,
  FileRegistry,
} from '@bufbuild/protobuf';

/** What may carry a comment in the contract. */
export type Commented = DescMessage | DescField | DescEnum | DescEnumValue | DescService | DescMethod;

// Field numbers of descriptor.proto, which paths of source code locations are made of.
const FILE = { message: 4, enum: 5, service: 6 };
const MESSAGE = { field: 2, message: 3, enum: 4 };
const ENUM_VALUE = 2;
const METHOD = 2;

/** The comment above each definition of all files, where the descriptors carry them. */
export function readComments(registry: FileRegistry): Map<Commented, string> {
  const comments = new Map<Commented, string>();
  for (const file of registry.files) readFile(file, comments);
  return comments;
}

function readFile(file: DescFile, comments: Map<Commented, string>): void {
  const texts = new Map<string, string>();
  for (const location of file.proto.sourceCodeInfo?.location ?? []) {
    if (location.leadingComments !== '') texts.set(location.path.join(), tidy(location.leadingComments));
  }
  const note = (definition: Commented, path: number[]) => {
    const text = texts.get(path.join());
    if (text !== undefined) comments.set(definition, text);
  };
  const noteEnum = (type: DescEnum, path: number[]) => {
    note(type, path);
    type.values.forEach((value, i) => {
      note(value, [...path, ENUM_VALUE, i]);
    });
  };
  const noteMessage = (type: DescMessage, path: number[]) => {
    note(type, path);
    for (const field of type.fields) note(field, [...path, MESSAGE.field, type.proto.field.indexOf(field.proto)]);
    for (const nested of type.nestedMessages) {
      noteMessage(nested, [...path, MESSAGE.message, type.proto.nestedType.indexOf(nested.proto)]);
    }
    type.nestedEnums.forEach((nested, i) => {
      noteEnum(nested, [...path, MESSAGE.enum, i]);
    });
  };
  file.messages.forEach((type, i) => {
    noteMessage(type, [FILE.message, i]);
  });
  file.enums.forEach((type, i) => {
    noteEnum(type, [FILE.enum, i]);
  });
  file.services.forEach((service, i) => {
    note(service, [FILE.service, i]);
    service.methods.forEach((method, k) => {
      note(method, [FILE.service, i, METHOD, k]);
    });
  });
}

/** Lines of a paragraph are joined; an empty line parts paragraphs. */
function tidy(comment: string): string {
  return comment
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.trim().replace(/\s*\n\s*/g, ' '))
    .filter((paragraph) => paragraph !== '')
    .join('\n');
}
