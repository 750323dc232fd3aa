import { serialize, deserialize } from '../node_modules/bson/lib/bson.node.mjs';
import { encodeRecord, decodeRecord } from './dist/src/store/mongo/codec.js';
const rec={id:'r1',version:1,tenant:'t',kind:'doc',rank:1,email:'e@x.org',name:'Name',createdAt:new Date().toISOString(),updatedAt:new Date().toISOString(),createdBy:'u1',parentId:null,tags:['a','b'],body:{blocks:Array.from({length:30},(_, k)=>({type:'p',id:'b'+k,text:'hello world '+k,marks:[{type:'bold',from:1,to:4}]}))}};
const A=serialize(encodeRecord(rec)), B=serialize({_id:rec.id,version:1,tenant:'t',kind:'doc',doc:JSON.stringify(rec)}), C=serialize(rec);
const time=(f)=>{for(let i=0;i<3000;i++)f(); const s=performance.now(); for(let i=0;i<20000;i++)f(); return ((performance.now()-s)/20).toFixed(1)+' µs';};
console.log('bytes',A.length,B.length,C.length);
console.log('decode ours',time(()=>decodeRecord(deserialize(A))),'one JSON text',time(()=>JSON.parse(deserialize(B).doc)),'plain BSON',time(()=>deserialize(C)));
console.log('encode ours',time(()=>serialize(encodeRecord(rec))),'one JSON text',time(()=>serialize({_id:rec.id,version:1,tenant:'t',kind:'doc',doc:JSON.stringify(rec)})),'plain BSON',time(()=>serialize(rec)));
