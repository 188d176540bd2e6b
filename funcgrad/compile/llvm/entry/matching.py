"""Guards as LLVM IR: whether the arguments of a call are those of a plan.

They answer false without an exception, and note where the data of each leaf is.
"""

__all__ = ["TEXT"]

TEXT = """
; Is %x an array of the leaf's dtype, shape and layout? Its data goes to %base.
define internal i1 @array(ptr %x, ptr %leaf, ptr %base) #0 {
entry:
  %type = read ptr type %x
  %is.array = icmp eq ptr %type, @ndarray
  br i1 %is.array, label %typed, label %no
typed:
  %dtype = read ptr dtype %x
  %expected = get ptr leaf.dtype %leaf
  %same = icmp eq ptr %dtype, %expected
  br i1 %same, label %ranked, label %other
other:  ; one that equals it, as unpickled arrays have
  %number = read i32 type_number %dtype
  %number.wide = sext i32 %number to i64
  %number.wanted = get i64 leaf.type_number %leaf
  %order = read i8 byteorder %dtype
  %native = icmp ne i8 %order, 62
  %numbered = icmp eq i64 %number.wide, %number.wanted
  %equal = and i1 %native, %numbered
  br i1 %equal, label %ranked, label %no
ranked:
  %rank = read i32 ndim %x
  %ndim = sext i32 %rank to i64
  %ndim.wanted = get i64 leaf.ndim %leaf
  %rank.good = icmp eq i64 %ndim, %ndim.wanted
  %flags = read i32 flags %x
  %flags.wide = zext i32 %flags to i64
  %flags.wanted = get i64 leaf.flags %leaf
  %flags.had = and i64 %flags.wide, %flags.wanted
  %flags.good = icmp eq i64 %flags.had, %flags.wanted
  %good = and i1 %rank.good, %flags.good
  br i1 %good, label %sizes, label %no
sizes:
  %shape = read ptr shape %x
  %strides = read ptr strides %x
  %shape.wanted = get ptr leaf.shape %leaf
  %mask = get i64 leaf.mask %leaf
  br label %size
size:
  %k = phi i64 [ 0, %sizes ], [ %k.next, %stride ]
  %end = icmp eq i64 %k, %ndim
  br i1 %end, label %yes, label %compare
compare:
  %size.at = getelementptr i64, ptr %shape, i64 %k
  %size.is = load i64, ptr %size.at
  %wanted.at = getelementptr i64, ptr %shape.wanted, i64 %k
  %size.wanted = load i64, ptr %wanted.at
  %size.good = icmp eq i64 %size.is, %size.wanted
  br i1 %size.good, label %stride, label %no
stride:
  %k.next = add i64 %k, 1
  %stride.at = getelementptr i64, ptr %strides, i64 %k
  %stride.is = load i64, ptr %stride.at
  %odd = and i64 %stride.is, %mask
  %whole = icmp eq i64 %odd, 0
  br i1 %whole, label %size, label %no
yes:
  %data = read ptr data %x
  store ptr %data, ptr %base
  ret i1 true
no:
  ret i1 false
}

define internal i1 @leaf(ptr %leaf, ptr %objects, ptr %base, ptr %slot) #0 {
entry:
  %overflow = alloca i32
  %number = get i64 leaf.object %leaf
  %x.at = getelementptr ptr, ptr %objects, i64 %number
  %x = load ptr, ptr %x.at
  %kind = get i64 leaf.kind %leaf
  %is.array = icmp eq i64 %kind, {leaf.array}
  br i1 %is.array, label %array, label %single
array:
  %found = call i1 @array(ptr %x, ptr %leaf, ptr %base)
  ret i1 %found
single:
  %type = read ptr type %x
  %expected = get ptr leaf.type %leaf
  %same = icmp eq ptr %type, %expected
  br i1 %same, label %exact, label %other
exact:
  %is.integer = icmp eq i64 %kind, {leaf.integer}
  br i1 %is.integer, label %integer, label %inside
inside:
  %place = getelementptr i8, ptr %x, i64 {abi.number}
  store ptr %place, ptr %base
  ret i1 true
integer:
  store ptr %slot, ptr %base
  %value = call i64 @PyLong_AsLongLongAndOverflow(ptr %x, ptr %overflow)
  store i64 %value, ptr %slot
  %outside = load i32, ptr %overflow
  %fits = icmp eq i32 %outside, 0
  ret i1 %fits
other:
  switch i64 %kind, label %no [
    i64 {leaf.scalar}, label %array
    i64 {leaf.boolean}, label %boolean
  ]
boolean:
  %true = icmp eq ptr %x, @_Py_TrueStruct
  %false = icmp eq ptr %x, @_Py_FalseStruct
  %either = or i1 %true, %false
  br i1 %either, label %truth, label %array
truth:
  %byte = zext i1 %true to i8
  store i8 %byte, ptr %slot
  store ptr %slot, ptr %base
  ret i1 true
no:
  ret i1 false
}

define internal i1 @unpack(ptr %unpack, ptr %objects) #0 {
entry:
  %place = alloca i64
  %key.place = alloca ptr
  %value.place = alloca ptr
  store i64 0, ptr %place
  %number = get i64 unpack.object %unpack
  %x.at = getelementptr ptr, ptr %objects, i64 %number
  %x = load ptr, ptr %x.at
  %kind = get i64 unpack.kind %unpack
  %expected = get ptr unpack.type %unpack
  %identity = icmp eq i64 %kind, {unpack.same}
  br i1 %identity, label %same, label %container
same:
  %is = icmp eq ptr %x, %expected
  ret i1 %is
container:
  %type = read ptr type %x
  %typed = icmp eq ptr %type, %expected
  br i1 %typed, label %sized, label %no
sized:
  %count = get i64 unpack.count %unpack
  %target = get i64 unpack.target %unpack
  %keys = get ptr unpack.keys %unpack
  %items = getelementptr ptr, ptr %objects, i64 %target
  switch i64 %kind, label %dict.size [
    i64 {unpack.tuple}, label %tuple.size
    i64 {unpack.list}, label %list.size
  ]
tuple.size:
  %tuple.count = call i64 @PyTuple_Size(ptr %x)
  br label %count.known
list.size:
  %list.count = call i64 @PyList_Size(ptr %x)
  br label %count.known
dict.size:
  %dict.count = call i64 @PyDict_Size(ptr %x)
  br label %count.known
count.known:
  %has = phi i64
    [ %tuple.count, %tuple.size ],
    [ %list.count, %list.size ],
    [ %dict.count, %dict.size ]
  %right = icmp eq i64 %has, %count
  br i1 %right, label %item, label %no
item:
  %k = phi i64 [ 0, %count.known ], [ %k.next, %taken ]
  %end = icmp eq i64 %k, %count
  br i1 %end, label %yes, label %take
take:
  switch i64 %kind, label %dict.item [
    i64 {unpack.tuple}, label %tuple.item
    i64 {unpack.list}, label %list.item
  ]
tuple.item:
  %from.tuple = call ptr @PyTuple_GetItem(ptr %x, i64 %k)
  br label %got
list.item:
  %from.list = call ptr @PyList_GetItem(ptr %x, i64 %k)
  br label %got
dict.item:  ; in their order, for which a function may ask
  %key.at = getelementptr ptr, ptr %keys, i64 %k
  %key.known = load ptr, ptr %key.at
  %more = call i32 @PyDict_Next(ptr %x, ptr %place, ptr %key.place, ptr %value.place)
  %key = load ptr, ptr %key.place
  %from.dict = load ptr, ptr %value.place
  %key.same = icmp eq ptr %key, %key.known
  br i1 %key.same, label %got, label %key.other
key.other:
  %key.type = read ptr type %key
  %known.type = read ptr type %key.known
  %key.typed = icmp eq ptr %key.type, %known.type
  br i1 %key.typed, label %key.compare, label %absent
key.compare:
  %equal = call i32 @PyObject_RichCompareBool(ptr %key, ptr %key.known, i32 2)  ; Py_EQ
  %key.equal = icmp eq i32 %equal, 1
  br i1 %key.equal, label %got, label %absent
got:
  %object = phi ptr
    [ %from.tuple, %tuple.item ],
    [ %from.list, %list.item ],
    [ %from.dict, %dict.item ],
    [ %from.dict, %key.compare ]
  %there = icmp ne ptr %object, null
  br i1 %there, label %taken, label %absent
taken:
  %item.at = getelementptr ptr, ptr %items, i64 %k
  store ptr %object, ptr %item.at
  %k.next = add i64 %k, 1
  br label %item
absent:
  call void @PyErr_Clear()
  br label %no
yes:
  ret i1 true
no:
  ret i1 false
}

define internal i1 @match(ptr %plan, ptr %objects, ptr %bases, ptr %slots) #0 {
entry:
  %unpacks = get i64 plan.unpacks %plan
  %unpack.0 = get ptr plan.unpack %plan
  %leaves = get i64 plan.leaves %plan
  %leaf.0 = get ptr plan.leaf %plan
  br label %containers
containers:
  %u = phi i64 [ 0, %entry ], [ %u.next, %container ]
  %u.end = icmp eq i64 %u, %unpacks
  br i1 %u.end, label %each, label %container
container:
  %u.next = add i64 %u, 1
  %u.word = mul i64 %u, {size.unpack}
  %unpack = getelementptr i64, ptr %unpack.0, i64 %u.word
  %unpacked = call i1 @unpack(ptr %unpack, ptr %objects)
  br i1 %unpacked, label %containers, label %no
each:
  %k = phi i64 [ 0, %containers ], [ %k.next, %check ]
  %end = icmp eq i64 %k, %leaves
  br i1 %end, label %yes, label %check
check:
  %k.next = add i64 %k, 1
  %k.word = mul i64 %k, {size.leaf}
  %leaf = getelementptr i64, ptr %leaf.0, i64 %k.word
  %base = getelementptr ptr, ptr %bases, i64 %k
  %slot = getelementptr i64, ptr %slots, i64 %k
  %good = call i1 @leaf(ptr %leaf, ptr %objects, ptr %base, ptr %slot)
  br i1 %good, label %each, label %no
yes:
  %apart = call i1 @apart(ptr %plan, ptr %bases)
  ret i1 %apart
no:
  ret i1 false
}

; Are the pieces of memory apart that have to be?
define internal i1 @apart(ptr %plan, ptr %bases) #0 {
entry:
  %count = get i64 plan.aparts %plan
  %first = get ptr plan.apart %plan
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %k.next, %compare ]
  %end = icmp eq i64 %k, %count
  br i1 %end, label %yes, label %one
one:
  %k.next = add i64 %k, 1
  %k.word = mul i64 %k, {size.apart}
  %record = getelementptr i64, ptr %first, i64 %k.word
  %number = get i64 apart.base %record
  %bytes = get i64 apart.bytes %record
  %other = get i64 apart.other %record
  %address = get i64 apart.address %record
  %other.bytes = get i64 apart.other_bytes %record
  %at = getelementptr i64, ptr %bases, i64 %number
  %a = load i64, ptr %at
  %fixed = icmp slt i64 %other, 0
  br i1 %fixed, label %compare, label %moving
moving:
  %other.at = getelementptr i64, ptr %bases, i64 %other
  %base = load i64, ptr %other.at
  br label %compare
compare:
  %from = phi i64 [ 0, %one ], [ %base, %moving ]
  %b = add i64 %from, %address
  %a.end = add i64 %a, %bytes
  %b.end = add i64 %b, %other.bytes
  %before = icmp ule i64 %a.end, %b
  %after = icmp ule i64 %b.end, %a
  %good = or i1 %before, %after
  br i1 %good, label %each, label %no
yes:
  ret i1 true
no:
  ret i1 false
}
"""
